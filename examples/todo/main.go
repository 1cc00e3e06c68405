// Command todo is a to-do list that shows changes as they happen.
//
//	go run ./examples/todo -db todo.db add Buy milk
//	go run ./examples/todo -db todo.db
//
// The second form reads commands from standard input, one per line:
//
//	add TEXT   adds a task
//	done ID    marks a task as done
//	list       prints all tasks
//	watch      prints the open tasks, and then each one that is added or closed
//
// It shows a typed collection that numbers its records, a query that is stored and used in two
// ways, and a live query that runs in its own goroutine while commands are read.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "todo:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) (err error) {
	flags := flag.NewFlagSet("todo", flag.ContinueOnError)
	dir := flags.String("db", "todo.db", "directory of the database")
	if err := flags.Parse(args); err != nil {
		return err
	}
	db, err := stoat.Open(*dir, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	l, err := newList(db, out)
	if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return l.do(strings.Join(flags.Args(), " "))
	}
	return l.session(in)
}

// task is something to do.
type task struct {
	ID   uint64 `stoat:"id,key,auto"`
	Text string `stoat:"text"`
	Done bool   `stoat:"done,index"`
}

// list is a list of tasks. It is safe for concurrent use.
type list struct {
	db    *stoat.DB
	tasks *record.Collection[task]
	open  record.Query[task] // tasks that are not done

	printing sync.Mutex
	out      io.Writer
}

func newList(db *stoat.DB, out io.Writer) (*list, error) {
	tasks, err := record.Open[task](db, "tasks", nil)
	if err != nil {
		return nil, err
	}
	open := tasks.Query().Where(record.Eq("done", false)).OrderBy("id")
	return &list{db: db, tasks: tasks, open: open, out: out}, nil
}

// session executes the commands of in, and stops the watchers at the end.
func (l *list) session(in io.Reader) error {
	ctx, stop := context.WithCancel(context.Background())
	var watchers sync.WaitGroup
	defer watchers.Wait()
	defer stop()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "":
		case line == "watch":
			watchers.Go(func() { l.watch(ctx) })
		default:
			if err := l.do(line); err != nil {
				l.print("%v\n", err)
			}
		}
	}
	return lines.Err()
}

// do executes a command other than watch.
func (l *list) do(line string) error {
	command, argument, _ := strings.Cut(line, " ")
	switch command {
	case "add":
		return l.add(strings.TrimSpace(argument))
	case "done":
		return l.done(strings.TrimSpace(argument))
	case "list":
		return l.list()
	case "watch":
		return errors.New("watch works only interactively: start the program without a command")
	}
	return fmt.Errorf("unknown command %q: use add TEXT, done ID, list or watch", command)
}

func (l *list) add(text string) error {
	if text == "" {
		return errors.New("the task has no text: use add TEXT")
	}
	t := task{Text: text}
	err := l.db.Update(func(tx *stoat.Tx) error { return l.tasks.Insert(tx, &t) })
	if err != nil {
		return err
	}
	l.print("added %d\n", t.ID)
	return nil
}

func (l *list) done(argument string) error {
	id, err := strconv.ParseUint(argument, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not the number of a task", argument)
	}
	err = l.db.Update(func(tx *stoat.Tx) error {
		return record.SetField(tx, l.tasks, id, "done", true)
	})
	if errors.Is(err, stoat.ErrNotFound) {
		return fmt.Errorf("there is no task %d", id)
	}
	return err
}

func (l *list) list() error {
	return l.db.View(func(tx *stoat.Tx) error {
		for t, err := range l.tasks.All(tx) {
			if err != nil {
				return err
			}
			mark := ' '
			if t.Done {
				mark = 'x'
			}
			l.print("%d [%c] %s\n", t.ID, mark, t.Text)
		}
		n, err := l.open.Count(tx)
		l.print("%d open\n", n)
		return err
	})
}

// watch prints changes to the open tasks until ctx is done.
func (l *list) watch(ctx context.Context) {
	for changes, err := range l.tasks.Watch(ctx, l.db, l.open) {
		if err != nil {
			if ctx.Err() == nil {
				l.print("watch: %v\n", err)
			}
			return
		}
		for _, e := range changes.Added {
			l.print("+ %d %s\n", e.Record.ID, e.Record.Text)
		}
		for _, e := range changes.Removed {
			l.print("- %d %s\n", e.Record.ID, e.Record.Text)
		}
	}
}

func (l *list) print(format string, args ...any) {
	l.printing.Lock()
	defer l.printing.Unlock()
	fmt.Fprintf(l.out, format, args...)
}
