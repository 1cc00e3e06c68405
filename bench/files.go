package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/report/page"
)

// Names of the report's files.
const (
	jsonName = "results.json"
	csvName  = "results.csv"
	goName   = "results.txt"
	pageName = "report.html"
)

// prepare makes the folder of the report and checks that files can be created wherever they will
// be, before hours are spent. A named storage must exist: creating it would hide that a disk is not
// mounted.
func (c *choices) prepare() error {
	for _, p := range c.places {
		if err := writable(p.dir); err != nil {
			return fmt.Errorf("cannot measure in -storage %s: %w", p.dir, err)
		}
	}
	err := os.MkdirAll(c.out, 0o755)
	if err == nil {
		err = writable(c.out)
	}
	if err != nil {
		return fmt.Errorf("cannot write the report to -out %s: %w", c.out, err)
	}
	if len(c.places) == 0 {
		c.places = []place{{"", c.out}}
	}
	return nil
}

// writable returns an error unless files can be created in the folder.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, "stoat-bench-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// save saves what was measured so far, in case this process dies. If it fails, there may be room
// again at the end.
func (c *choices) save(r *report.Report) {
	sofar := *r
	sofar.Notes = append(slices.Clone(r.Notes), "The run was still in progress when this was saved.")
	if err := replaceFile(filepath.Join(c.out, jsonName), sofar.JSON); err != nil {
		note(r, fmt.Sprintf("Results could not be saved during the run: %v", err))
	}
}

// show writes the report's files and prints what was measured.
func (c *choices) show(r *report.Report) error {
	err := writeFiles(r, c.out)
	if c.json {
		return errors.Join(err, json.NewEncoder(os.Stdout).Encode(r))
	}
	err = errors.Join(err, r.Text(os.Stdout, findSuite, c.details))
	if err == nil {
		fmt.Printf("\nReport: %s\n", c.reportPath())
	}
	return err
}

// reportPath returns the absolute path of the page, if it can be determined.
func (c *choices) reportPath() string {
	path := filepath.Join(c.out, pageName)
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return path
}

// writeFiles writes all forms of the report into a folder. It tries each of them.
func writeFiles(r *report.Report, dir string) error {
	var errs []error
	for name, write := range map[string]func(w io.Writer) error{
		jsonName: r.JSON,
		csvName:  func(w io.Writer) error { return r.CSV(w, findSuite) },
		goName:   func(w io.Writer) error { return r.GoBench(w, findSuite) },
		pageName: func(w io.Writer) error { return page.Write(w, r, findSuite) },
	} {
		if err := replaceFile(filepath.Join(dir, name), write); err != nil {
			errs = append(errs, fmt.Errorf("write the report: %w", err))
		}
	}
	return errors.Join(errs...)
}

// replaceFile writes a file. If anything fails, the previous file remains until the new one is
// complete.
func replaceFile(path string, write func(w io.Writer) error) error {
	f, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
