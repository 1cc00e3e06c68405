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

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// usage is what somebody reads who gave no two files.
const usage = "usage: bench compare [-all] [-json] [-least 2%] [-fail 10%] OLD NEW"

// Command is the command compare with its arguments. It returns an error if it cannot compare, and
// with the flag -fail also if a row has become worse by more than that.
func Command(
	args []string, stdout io.Writer, find func(name string) (suite.Suite, error),
) error {
	var all, inJSON bool
	var least, limit share
	least.value = Least
	f := flag.NewFlagSet("bench compare", flag.ContinueOnError)
	f.BoolVar(&all, "all", false, "print the rows without a change, too")
	f.BoolVar(&inJSON, "json", false, "print JSON in place of tables")
	f.Var(&least, "least", "relative change that is worth a word")
	f.Var(&limit, "fail", "end with status 1 if a row is worse by more than this")
	var files []string
	for rest := args; ; rest = f.Args()[1:] {
		if err := f.Parse(rest); err != nil {
			return err
		}
		if f.NArg() == 0 {
			break
		}
		files = append(files, f.Arg(0))
	}
	if len(files) != 2 {
		return errors.New(usage)
	}
	old, err := report.Read(files[0])
	if err != nil {
		return err
	}
	new, err := report.Read(files[1])
	if err != nil {
		return err
	}
	c := Compare(old, new, find)
	c.Judge(least.value)
	if inJSON {
		if err := json.NewEncoder(stdout).Encode(c); err != nil {
			return err
		}
	} else {
		c.Text(stdout, all)
	}
	if n := c.beyond(limit.value); limit.value > 0 && n > 0 {
		return fmt.Errorf("worse by more than %s in %d row(s)", limit.String(), n)
	}
	return nil
}

// beyond returns how many rows are worse by more than a share.
func (c *Comparison) beyond(share float64) (n int) {
	for _, p := range c.Pairs {
		if p.Verdict == Worse && p.Effect() > share {
			n++
		}
	}
	return n
}

// share is a flag: a percentage, with or without its sign.
type share struct{ value float64 }

func (s *share) Set(text string) error {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return errors.New("no percentage such as 10%")
	}
	s.value = v / 100
	return nil
}

func (s *share) String() string { return strconv.FormatFloat(s.value*100, 'g', 4, 64) + "%" }
