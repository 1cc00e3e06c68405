package studio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"

	"github.com/stoatdb/stoat"
)

// problem is an error that says with which status it is told.
type problem struct {
	status int
	text   string
	column int // of the query, from 1, where it is wrong; or 0
}

func (p *problem) Error() string { return p.text }

// problemf returns an error that is told with a status.
func problemf(status int, format string, args ...any) error {
	return &problem{status: status, text: fmt.Sprintf(format, args...)}
}

// badf returns the error of a request that asks for something impossible.
func badf(format string, args ...any) error {
	return problemf(http.StatusBadRequest, format, args...)
}

// statuses are the statuses of errors of the library. It is immutable.
var statuses = []struct {
	err    error
	status int
}{
	{stoat.ErrNotFound, http.StatusNotFound},
	{stoat.ErrBucketNotFound, http.StatusNotFound},
	{stoat.ErrInvalidKey, http.StatusBadRequest},
	{stoat.ErrTooLarge, http.StatusBadRequest},
	{stoat.ErrReadOnly, http.StatusForbidden},
	{stoat.ErrClosed, http.StatusServiceUnavailable},
	{fs.ErrNotExist, http.StatusServiceUnavailable},
	{context.DeadlineExceeded, http.StatusServiceUnavailable},
}

// statusOf returns the status with which an error is told.
func statusOf(err error) int {
	var p *problem
	if errors.As(err, &p) {
		return p.status
	}
	for _, s := range statuses {
		if errors.Is(err, s.err) {
			return s.status
		}
	}
	return http.StatusInternalServerError
}

// failure is the answer that is an error.
type failure struct {
	Error  string `json:"error"`
	Column int    `json:"column,omitempty"` // of the query, from 1, where it is wrong
}

// fail answers with an error.
func fail(w http.ResponseWriter, err error) {
	a := failure{Error: err.Error()}
	var p *problem
	if errors.As(err, &p) {
		a.Column = p.column
	}
	if errors.Is(err, context.DeadlineExceeded) {
		a.Error = "the answer takes too long: ask for less"
	}
	body, _ := json.Marshal(a) // it cannot fail
	reply(w, statusOf(err), body)
}

// send answers with a value as JSON.
func send(w http.ResponseWriter, answer any) error {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(answer); err != nil {
		return err
	}
	reply(w, http.StatusOK, body.Bytes())
	return nil
}

// reply writes an answer of JSON. If that fails, nobody is left to tell.
func reply(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
