package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/remote/s3"
)

// optionsOf returns what a URL says with an environment of lines like A=b.
func optionsOf(arg string, environment ...string) (s3.Options, error) {
	return bucketOptions(arg, func(name string) string {
		for _, line := range environment {
			if value, found := strings.CutPrefix(line, name+"="); found {
				return value
			}
		}
		return ""
	})
}

func TestBucketOptions_comeFromTheURLAndTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		arg, environment string
		want             s3.Options
	}{
		{"s3://box", "", s3.Options{Bucket: "box", Endpoint: defaultEndpoint}},
		{"s3://box/a/c/", "", s3.Options{Bucket: "box", Prefix: "a/c/", Endpoint: defaultEndpoint}},
		{"s3://box/a?endpoint=h:1&insecure=true&region=r", "AWS_REGION=x",
			s3.Options{Bucket: "box", Prefix: "a/", Endpoint: "h:1", Insecure: true, Region: "r"}},
		{"s3://box", "AWS_ENDPOINT_URL=http://h:2/ AWS_DEFAULT_REGION=d",
			s3.Options{Bucket: "box", Endpoint: "h:2", Insecure: true, Region: "d"}},
		{"s3://box", "AWS_ENDPOINT_URL_S3=https://s AWS_ENDPOINT_URL=http://h",
			s3.Options{Bucket: "box", Endpoint: "s"}},
		{"s3://box?endpoint=e", "AWS_ENDPOINT_URL=http://h", s3.Options{Bucket: "box", Endpoint: "e"}},
		{"s3://box?insecure=false", "AWS_ENDPOINT_URL=http://h",
			s3.Options{Bucket: "box", Endpoint: "h"}},
	} {
		got, err := optionsOf(c.arg, strings.Fields(c.environment)...)
		if err != nil || got != c.want {
			t.Errorf("%s with %q: %+v (%v)", c.arg, c.environment, got, err)
		}
	}
}

func TestBucketOptions_refuseMistakes(t *testing.T) {
	for _, c := range []struct{ arg, environment, word string }{
		{"s3://", "", "names no bucket"}, {"s3:///a", "", "names no bucket"},
		{"gs://b", "", "no stores at gs://"}, {"s3://k:s@box", "", "AWS_ACCESS_KEY_ID"},
		{"s3://box#x", "", "names no bucket"}, {"s3://box?colour=red", "", `"colour" is unknown`},
		{"s3://box?region=a&region=b", "", "twice"}, {"s3://box?insecure=maybe", "", "true or false"},
		{"s3://box?endpoint=http://h", "", "HOST:PORT"}, {"s3://box?a;b", "", "s3://BUCKET"},
		{"s3://%", "", "s3://BUCKET"}, {"s3:box/a", "", "names no bucket"},
		{"s3:/box/a", "", "names no bucket"}, {"s3://box/../a", "", ".."}, {"s3://box/a//c", "", "empty"},
		{"s3://x", "", "x is no bucket"}, {"s3://box", "AWS_ENDPOINT_URL=h:1", "AWS_ENDPOINT_URL is"},
		{"s3://box", "AWS_ENDPOINT_URL=http://h/path", "https://HOST:PORT"},
	} {
		_, err := optionsOf(c.arg, strings.Fields(c.environment)...)
		if err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s with %q: %v", c.arg, c.environment, err)
		}
	}
}

func TestOpenStore_needsAFolder(t *testing.T) {
	dir := newDB(t, 1)
	none := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{
		{"status", none}, {"verify", none}, {"pins", none}, {"restore", none, "x"}, {"gc", dir, none},
	} {
		fails(t, exitError, args, "no folder", none, "stoat remote init")
	}
	fails(t, exitUsage, []string{"init", dir, "s3:bucket/a"}, "names no bucket", "s3://BUCKET/PREFIX")
	fails(t, exitNotFound, []string{"status", t.TempDir()}, "no database", "stoat remote init")
	fails(t, exitError, []string{"status", filepath.Join(dir, "LOCK")}, "is a file")
	fails(t, exitUsage, []string{"restore", dir, none}, "is the directory of a database")
	fails(t, exitUsage, []string{"init", dir, dir}, "is the directory of a database")
}

// namesBelow returns the names of all files and folders below a folder.
func namesBelow(t testing.TB, root string) (names []string) {
	t.Helper()
	ok(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}

// A folder that was named by mistake stays as it is.
func TestOpenStore_makesNone(t *testing.T) {
	key := keyFile(t, 1)
	for _, inside := range []string{".unfinished", "letters"} {
		folder := t.TempDir()
		ok(t, os.Mkdir(filepath.Join(folder, inside), 0o700))
		before := namesBelow(t, folder)
		for _, args := range [][]string{
			{"status", folder}, {"verify", folder}, {"restore", folder, filepath.Join(folder, "copy")},
			{"status", "-key-file", key, folder}, {"get", "-key-file", key, folder, "k"},
		} {
			fails(t, exitNotFound, args, "no database")
			if now := namesBelow(t, folder); !slices.Equal(now, before) {
				t.Fatalf("%q leaves %q", args, now)
			}
		}
	}
}
