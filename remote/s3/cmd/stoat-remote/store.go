package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/folderstore"
	"github.com/stoatdb/stoat/remote/objstore"
	"github.com/stoatdb/stoat/remote/s3"
)

// storeForm is what error messages say of the argument STORE.
const storeForm = "write a folder, or s3://BUCKET/PREFIX, in which " +
	"?endpoint=HOST:PORT&region=NAME&insecure=true may follow"

// defaultEndpoint is the server of buckets if nothing names one.
const defaultEndpoint = "s3.amazonaws.com"

// openStore opens the store that an argument names. A folder that has nothing of a store does not
// become one.
func openStore(arg string) (objstore.Store, error) {
	if isURL(arg) {
		return openBucket(arg)
	}
	names, err := listFolder(arg)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no folder %s: check the path, or create it with \"stoat "+
			"remote init\"; for a bucket, write s3://BUCKET/PREFIX", arg)
	case err != nil:
		return nil, err
	case !slices.ContainsFunc(names, func(name string) bool {
		return slices.Contains(storeNames, name)
	}):
		return nil, fmt.Errorf("%s: %w", arg, remote.ErrNone)
	}
	return folderstore.Open(arg)
}

// storeNames are the names in the folder of a store. It is immutable.
var storeNames = []string{
	".unfinished", "data", "key", "log", "origin", "pin", "state",
}

// newStore opens the store that an argument names, which may be new.
func newStore(arg string) (objstore.Store, error) {
	if isURL(arg) {
		return openBucket(arg)
	}
	if _, err := listFolder(arg); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return folderstore.Open(arg)
}

// listFolder returns the names in the folder that an argument names, which must not be a database.
func listFolder(arg string) (names []string, err error) {
	if arg == "" {
		return nil, cmdline.Usagef("STORE is empty: %s", storeForm)
	}
	info, err := os.Stat(arg)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is a file: the store must be a folder", arg)
	}
	entries, err := os.ReadDir(arg)
	for _, e := range entries {
		if isManifest(e) {
			return nil, cmdline.Usagef("%s is the directory of a database, and not a store", arg)
		}
		names = append(names, e.Name())
	}
	return names, err
}

// isManifest reports whether a file makes the directory that it is in a database.
func isManifest(e os.DirEntry) bool {
	kind, _ := folder.Parse(e.Name())
	return kind == folder.Manifest
}

// isURL reports whether an argument names a bucket, perhaps with a mistake: s3:BUCKET is no folder
// that anybody means.
func isURL(arg string) bool {
	return strings.Contains(arg, "://") || len(arg) > 2 && strings.EqualFold(arg[:3], "s3:")
}

func openBucket(arg string) (objstore.Store, error) {
	o, err := bucketOptions(arg, os.Getenv)
	if err != nil {
		return nil, err
	}
	store, err := s3.Open(o)
	if err != nil {
		return nil, cmdline.Usagef("%v: %s", err, storeForm)
	}
	return store, nil
}

// bucketOptions returns what a URL and the environment say of a bucket.
func bucketOptions(arg string, getenv func(string) string) (o s3.Options, err error) {
	u, err := url.Parse(arg)
	switch {
	case err != nil:
		return o, cmdline.Usagef("%v: %s", err, storeForm)
	case u.Scheme != "s3":
		return o, cmdline.Usagef("there are no stores at %s://: %s", u.Scheme, storeForm)
	case u.User != nil:
		return o, cmdline.Usagef("credentials do not belong here: set AWS_ACCESS_KEY_ID and " +
			"AWS_SECRET_ACCESS_KEY")
	case u.Host == "" || u.Fragment != "":
		return o, cmdline.Usagef("%s names no bucket: %s", arg, storeForm)
	}
	if err := s3utils.CheckValidBucketName(u.Host); err != nil {
		return o, cmdline.Usagef("%s is no bucket: %v", u.Host, err)
	}
	o = s3.Options{Bucket: u.Host, Region: getenv("AWS_REGION")}
	if o.Region == "" {
		o.Region = getenv("AWS_DEFAULT_REGION")
	}
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		if path.Clean("/"+prefix) != "/"+prefix {
			return o, cmdline.Usagef("%s: a prefix must not have empty parts, . or ..", arg)
		}
		o.Prefix = prefix + "/"
	}
	if o.Endpoint, o.Insecure, err = environmentEndpoint(getenv); err != nil {
		return o, err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return o, cmdline.Usagef("%s: %v: %s", arg, err, storeForm)
	}
	return o, applyQuery(&o, query)
}

// environmentEndpoint returns the server that the environment names, or that of AWS.
func environmentEndpoint(getenv func(string) string) (host string, insecure bool, err error) {
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
		text := getenv(name)
		if text == "" {
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
			strings.Trim(u.Path, "/") != "" {
			return "", false, cmdline.Usagef("%s is %q: it must be like https://HOST:PORT", name, text)
		}
		return u.Host, u.Scheme == "http", nil
	}
	return defaultEndpoint, false, nil
}

// applyQuery sets what the query of a URL says.
func applyQuery(o *s3.Options, query url.Values) error {
	for name, values := range query {
		if !slices.Contains([]string{"endpoint", "region", "insecure"}, name) || len(values) != 1 {
			return cmdline.Usagef("%q is unknown, or there twice: a bucket takes endpoint, region and "+
				"insecure, each once", name)
		}
	}
	if endpoint := query.Get("endpoint"); endpoint != "" {
		if strings.Contains(endpoint, "/") {
			return cmdline.Usagef("the endpoint %s must be HOST or HOST:PORT; for HTTP, add "+
				"&insecure=true", endpoint)
		}
		o.Endpoint, o.Insecure = endpoint, false
	}
	if region := query.Get("region"); region != "" {
		o.Region = region
	}
	if text := query.Get("insecure"); text != "" {
		insecure, err := strconv.ParseBool(text)
		if err != nil {
			return cmdline.Usagef("insecure=%s must be true or false", text)
		}
		o.Insecure = insecure
	}
	return nil
}
