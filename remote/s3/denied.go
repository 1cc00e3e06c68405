package s3

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/stoatdb/stoat/remote/objstore"
)

// told returns the error of a request, which matches objstore.ErrDenied if the server refuses it to
// whoever makes it. Not if it may soon accept the same: clocks are set, tokens of temporary
// credentials are renewed, an object that is archived may come back, and a request goes unsigned
// while the service that has the credentials does not answer. A server that hides which objects
// exist from who may not list them refuses objects that do not exist, too; databases need to list.
func (s *Store) told(err error) error {
	response := minio.ToErrorResponse(err)
	refused := response.StatusCode == http.StatusUnauthorized ||
		response.StatusCode == http.StatusForbidden
	switch response.Code {
	case "RequestTimeTooSkewed", "RequestExpired", "InvalidObjectState":
		return err
	}
	if !refused || strings.Contains(response.Code, "Token") {
		return err
	}
	if c, failed := s.client.GetCreds(); failed != nil || c.SignerType.IsAnonymous() {
		return fmt.Errorf("no credentials were found, so the request was not signed: %w", err)
	}
	return fmt.Errorf("%w: %w", objstore.ErrDenied, err)
}
