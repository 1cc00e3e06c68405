package main

import (
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/bucketpath"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

func bucketsCommand() *command {
	flags := cmdline.NewFlags()
	c := &bucketLister{from: bucketFlag(flags)}
	flags.BoolVar(&c.tree, "tree", false, "print buckets in buckets too, as a tree")
	flags.BoolVar(&c.json, "json", false, "print JSON, one object a line; with -tree, of all")
	return &command{
		Name:      "buckets",
		Arguments: "DB",
		Summary:   "print the buckets",
		Details: `
Each line is the path of a bucket, in the form that -bucket takes. With -json it
is an object:

  {"bucket":["a","b"],"sequence":7}

"bucket64" holds the names in base64 if one of them is not valid UTF-8.`,
		Min: 1, Max: 1,
		Flags: flags,
		Run: func(s *stdio, args []string) error {
			return view(s, args[0], func(tx *stoat.Tx) error {
				b, err := c.from.find(tx)
				if err != nil {
					return err
				}
				if c.tree && !c.json {
					title := c.from.String()
					if title == "" {
						title = args[0]
					}
					fmt.Fprintln(s.out, s.paint(title, bold))
				}
				return c.list(s, b, *c.from, "")
			})
		},
	}
}

// bucketLister prints buckets.
type bucketLister struct {
	from       *path
	tree, json bool
}

// list prints the buckets within b, each line of a tree after the indent.
func (c *bucketLister) list(s *stdio, b stoat.KeySpace, at path, indent string) error {
	var names []string
	for name := range b.Buckets() {
		names = append(names, string(name))
	}
	for i, name := range names {
		child, err := b.Bucket([]byte(name))
		if err != nil {
			return err
		}
		below := append(slices.Clone(at), name)
		branch, trunk := "├── ", "│   "
		if i == len(names)-1 {
			branch, trunk = "└── ", "    "
		}
		switch {
		case c.json:
			err = writeBucket(s.out, below, child)
		case c.tree:
			_, err = fmt.Fprintln(s.out, indent+branch+bucketpath.Escape(name))
		default:
			_, err = fmt.Fprintln(s.out, below.String())
		}
		if err == nil && c.tree {
			err = c.list(s, child, below, indent+trunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
