package compare

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/stoatdb/stoat/bench/arguments"
	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// usage is printed unless two files are given.
const usage = "usage: bench compare [-all] [-json] [-least 2%] [-fail 10%] OLD NEW"

// orders are the checked arguments.
type orders struct {
	old, new    string // paths
	all, inJSON bool
	least       share
	limit       share
}

// Command runs the command compare. It returns an error if it cannot compare and, with the flag
// -fail, also if a row is worse by more than the limit or if no row could be judged.
func Command(
	args []string, stdout io.Writer, find func(name string) (suite.Suite, error),
) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	old, err := report.Read(o.old)
	if err != nil {
		return err
	}
	new, err := report.Read(o.new)
	if err != nil {
		return err
	}
	c := Compare(old, new, find)
	c.Judge(o.least.value)
	if !o.inJSON {
		c.Text(stdout, o.all)
	} else if err := json.NewEncoder(stdout).Encode(c); err != nil {
		return err
	}
	if !o.limit.given {
		return nil
	}
	return c.check(o.limit)
}

// parse parses the arguments. Flags may stand before, between and after the files. If the user asks
// for help, it prints the help and returns [flag.ErrHelp].
func parse(args []string, stdout io.Writer) (*orders, error) {
	o := &orders{least: share{value: Least}}
	f := flag.NewFlagSet("bench compare", flag.ContinueOnError)
	f.BoolVar(&o.all, "all", false, "also print the rows without a change")
	f.BoolVar(&o.inJSON, "json", false, "print JSON instead of tables")
	f.Var(&o.least, "least", "smallest relative change to report")
	f.Var(&o.limit, "fail", "exit with status 1 if a row is worse by more than this")
	files, err := arguments.Parse(f, args, usage, stdout)
	if err != nil {
		return nil, err
	}
	if len(files) != 2 {
		return nil, errors.New(usage)
	}
	o.old, o.new = files[0], files[1]
	return o, nil
}

// check returns an error if a row is worse by more than the limit, or if no row was judged.
func (c *Comparison) check(limit share) error {
	switch n := c.beyond(limit.value); {
	case len(c.Pairs) == 0:
		return errors.New("judged nothing: the reports have no comparable row in common")
	case c.judged() == 0:
		return fmt.Errorf("judged nothing: both reports need %d rounds; measure with -rounds 5",
			MinRounds)
	case n > 0:
		return fmt.Errorf("worse by more than %s in %d row(s)", limit.String(), n)
	}
	return nil
}

// beyond returns the number of rows that are worse by more than a share.
func (c *Comparison) beyond(share float64) (n int) {
	for _, p := range c.Pairs {
		if p.Verdict == Worse && p.Effect() > share {
			n++
		}
	}
	return n
}

// share is a flag: a percentage, with or without the percent sign.
type share struct {
	value float64
	given bool
}

func (s *share) Set(text string) error {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return errors.New("not a percentage such as 10%")
	}
	s.value, s.given = v/100, true
	return nil
}

func (s *share) String() string { return strconv.FormatFloat(s.value*100, 'g', 4, 64) + "%" }
