package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/objstore"
)

// advise adds to an error what to do about it.
func advise(err error) error {
	var response minio.ErrorResponse
	var dialled *net.OpError
	switch {
	case errors.As(err, &response):
		if advice := adviceFor(response); advice != "" {
			return fmt.Errorf("%w: %s", err, advice)
		}
	case errors.As(err, &dialled) && dialled.Op == "dial":
		return fmt.Errorf("%w: check the endpoint in STORE or in AWS_ENDPOINT_URL, and whether the "+
			"server runs", err)
	case errors.Is(err, remote.ErrNone) && errors.Is(err, objstore.ErrExists): // a clone was begun
		return fmt.Errorf("%w: the commands are \"stoat remote clone PARENT STORE\" and \"stoat remote "+
			"unpin PARENT PIN\"", err)
	case errors.Is(err, remote.ErrNone):
		return fmt.Errorf("%w: check STORE, or ship a database to it with \"stoat remote init\"", err)
	case errors.Is(err, remote.ErrNoParent):
		return fmt.Errorf("%w: -%s must name the store of the parent", err, parentFlag)
	case errors.Is(err, remote.ErrUnpinned):
		return fmt.Errorf("%w: \"stoat remote clone PARENT STORE\" does that", err)
	case errors.Is(err, remote.ErrNotKept):
		return fmt.Errorf("%w: \"stoat remote status\" shows the oldest and the newest commit", err)
	case errors.Is(err, stoat.ErrKey):
		return fmt.Errorf("%w: -%s must name the key of STORE (and of DIR, if there is one and you do "+
			"not give -%s)", err, keyFileFlag, plainFlag)
	case errors.Is(err, stoat.ErrLocked):
		return fmt.Errorf("%w: end that process first", err)
	}
	return err
}

// adviceFor says what to do about an answer of a server.
func adviceFor(response minio.ErrorResponse) string {
	switch response.Code {
	case minio.NoSuchBucket:
		return "create the bucket first, or check its name in STORE"
	case "ExpiredToken", "InvalidToken", "InvalidTokenId":
		return "get new credentials, and set AWS_SESSION_TOKEN, too"
	case "RequestTimeTooSkewed":
		return "set the clock of this machine"
	}
	if strings.Contains(response.Message, "HTTPS client") ||
		strings.Contains(response.Message, "HTTP request to an HTTPS") {
		return "check insecure in STORE"
	}
	if response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden {
		return "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and what they may do with the " +
			"bucket: a writer lists, gets, puts and deletes below its prefix, and readers list and get"
	}
	return ""
}
