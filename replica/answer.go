package replica

import (
	"bufio"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/stoatdb/stoat/replica/internal/seal"
)

// The signatures of requests and answers.
const (
	domainRequest = "stoat.replica.request.v1"
	domainAnswer  = "stoat.replica.answer.v1"

	headerDevice    = "Stoat-Device"
	headerAudience  = "Stoat-Audience"
	headerTime      = "Stoat-Time"
	headerDigest    = "Stoat-Digest"
	headerSignature = "Stoat-Signature"
	headerRefused   = "Stoat-Refused"

	// postAhead is how much the clocks of the two may differ.
	postAhead = 5 * time.Minute
)

// post answers a request.
func (h *handler) post(w http.ResponseWriter, r *http.Request) {
	s, peer, status, err := h.answer(w, r)
	err = unnamed(err)
	switch {
	case err == nil || status == http.StatusOK:
	case status == http.StatusInternalServerError || errors.Is(err, errUnwelcome):
		told := cmp.Or(reasonOf(err), "an error of its own, which it reports where it runs")
		http.Error(w, told, status)
	default:
		http.Error(w, toldOf(err), status)
	}
	if s != nil && peer != (DeviceID{}) {
		s.noteEnd(peer, err)
	}
	h.ended(s, peer, err)
}

// answer answers a request, or returns the status with which to refuse it. What the request has is
// not read before its device has proven who it is, nor kept in memory: entries prove themselves.
func (h *handler) answer(w http.ResponseWriter, r *http.Request) (
	s *Space, peer DeviceID, status int, err error,
) {
	signed, err := parseRequest(r.Header)
	if err != nil {
		return nil, peer, http.StatusUnauthorized, err
	}
	body := newSignedBody(r.Body, signed.digest)
	body.control, body.left = http.NewResponseController(w), postFirst
	body.wait(handshakeMax)
	f, err := newFrameReader(bufio.NewReader(body))
	if err != nil {
		return nil, peer, http.StatusBadRequest, err
	}
	id, described, err := f.readAbout()
	if err != nil {
		return nil, peer, http.StatusBadRequest, err
	}
	if s = h.find(SpaceID(id)); s == nil {
		return nil, peer, http.StatusNotFound, errors.New("there is no such space here")
	}
	if err := s.accepts(signed); err != nil {
		return nil, peer, http.StatusUnauthorized, err
	}
	peer = signed.device
	if h.sync.Admit != nil {
		if err := h.sync.Admit(s, peer); err != nil {
			return s, peer, http.StatusForbidden, &objection{errUnwelcome, err}
		}
	}
	if body.left, err = s.postRoom(peer); err != nil {
		return s, peer, http.StatusInternalServerError, err
	}
	body.wait(postPatience)
	in := newIntake(r.Context(), s, f)
	in.from.Device = peer
	lacks, refused, err := s.unpackBehind(in, id, described)
	switch failed := body.end(); {
	case errors.Is(failed, errTooLarge):
		return s, peer, http.StatusRequestEntityTooLarge, failed
	case failed != nil: // the device has not sent this
		return s, DeviceID{}, http.StatusBadRequest, failed
	}
	if err != nil {
		return s, peer, http.StatusInternalServerError, err
	}
	return h.give(w, r, in, lacks, refused)
}

// find returns the space that is served under an id, or nil.
func (h *handler) find(id SpaceID) *Space {
	for _, s := range h.spaces {
		if s.ID() == id && s.device != nil {
			return s
		}
	}
	return nil
}

// postRoom returns how many bytes a request of a device may have: of one that holds no grant, there
// need be nothing but its grant.
func (s *Space) postRoom(peer DeviceID) (int64, error) {
	denied, err := endpoint{s}.MayRead(peer)
	if denied != nil {
		return postStranger, err
	}
	return postMax, err
}

// give answers a request that was merged.
func (h *handler) give(
	w http.ResponseWriter, r *http.Request, in *intake, lacks *parcel, refused error,
) (s *Space, peer DeviceID, status int, err error) {
	s, peer = in.space, in.from.Device
	var denied error
	if err = s.sealAll(); err == nil {
		denied, err = endpoint{s}.MayRead(peer)
	}
	if err != nil {
		return s, peer, http.StatusInternalServerError, err
	}
	if denied != nil {
		s.noteRefusal(peer, EntryID{}, denied)
		return s, peer, http.StatusForbidden, denied
	}
	answer, err := s.packet(in.ctx, lacks)
	if errors.Is(err, ErrPruned) {
		return s, peer, http.StatusGone, err
	}
	if err != nil {
		return s, peer, http.StatusInternalServerError, err
	}
	if len(in.refused) > 0 { // what is only missing comes with the next request
		w.Header().Set(headerRefused, strconv.QuoteToASCII(in.told()))
	}
	return s, peer, http.StatusOK, errors.Join(refused, s.reply(w, r, answer))
}

// signedRequest is what the headers of a request say.
type signedRequest struct {
	device, audience DeviceID
	at               time.Time
	digest           [32]byte // of the body
}

// parseRequest returns what the headers of a request say, if the device has signed it.
func parseRequest(h http.Header) (r *signedRequest, err error) {
	r = &signedRequest{}
	if r.device, err = ParseDeviceID(h.Get(headerDevice)); err != nil {
		return nil, fmt.Errorf("%s: %w", headerDevice, err)
	}
	if r.device == (DeviceID{}) { // anybody can sign with that key
		return nil, fmt.Errorf("%s is zero: %w", headerDevice, ErrInvalid)
	}
	if r.audience, err = ParseDeviceID(h.Get(headerAudience)); err != nil {
		return nil, fmt.Errorf("%s: %w", headerAudience, err)
	}
	at, err := strconv.ParseInt(h.Get(headerTime), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%s is not a number: %w", headerTime, ErrInvalid)
	}
	r.at = time.UnixMilli(at)
	if r.digest, err = digestOf(h); err != nil {
		return nil, err
	}
	return r, checkSignature(h, r.device, requestMessage(r.audience, at, r.digest))
}

// accepts returns why a request is not for this replica now, or nil.
func (s *Space) accepts(r *signedRequest) error {
	if r.audience != (DeviceID{}) && r.audience != s.device.ID() {
		return fmt.Errorf("%w: this is %s", ErrPeerKey, s.device.ID())
	}
	now := s.time()
	if r.at.Before(now.Add(-postAhead)) || r.at.After(now.Add(postAhead)) {
		return fmt.Errorf("the clock of the device differs: here, it is %s: %w",
			now.UTC().Format(time.RFC3339), ErrInvalid)
	}
	return nil
}

// reply sends a signed answer.
func (s *Space) reply(w http.ResponseWriter, r *http.Request, answer []byte) error {
	request, err := hex.DecodeString(r.Header.Get(headerSignature))
	if err != nil {
		return err
	}
	digest := sha256.Sum256(answer)
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set(headerDevice, s.device.ID().String())
	h.Set(headerDigest, hex.EncodeToString(digest[:]))
	h.Set(headerSignature,
		hex.EncodeToString(ed25519.Sign(s.device.key, answerMessage(request, digest))))
	control := http.NewResponseController(w)
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // not all servers have deadlines
	for len(answer) > 0 && err == nil {
		n := min(len(answer), postEach)
		_ = control.SetWriteDeadline(time.Now().Add(postPatience))
		_, err = w.Write(answer[:n])
		answer = answer[n:]
	}
	return err
}

// checkSignature checks the signature of a request or an answer.
func checkSignature(h http.Header, id DeviceID, message []byte) error {
	signature, err := hex.DecodeString(h.Get(headerSignature))
	if err != nil || len(signature) != seal.Size ||
		!seal.Verify((*[seal.KeySize]byte)(&id), message, (*[seal.Size]byte)(signature)) {
		return fmt.Errorf("the signature of the device %s: %w", id, ErrInvalid)
	}
	return nil
}

// requestMessage returns what a request signs, given the digest of its body.
func requestMessage(audience DeviceID, now int64, digest [32]byte) []byte {
	m := append([]byte(domainRequest), audience[:]...)
	m = binary.BigEndian.AppendUint64(m, uint64(now))
	return append(m, digest[:]...)
}

// answerMessage returns what an answer signs, given the digest of its body.
func answerMessage(request []byte, digest [32]byte) []byte {
	return append(append([]byte(domainAnswer), request...), digest[:]...)
}
