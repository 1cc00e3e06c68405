package replica

import (
	"bytes"
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
	headerSignature = "Stoat-Signature"
	headerRefused   = "Stoat-Refused"

	// postAhead is how much the clocks of the two may differ.
	postAhead = 5 * time.Minute
)

// post answers a request.
func (h *handler) post(w http.ResponseWriter, r *http.Request) {
	s, peer, status, err := h.answer(w, r)
	if err != nil && status != http.StatusOK {
		http.Error(w, err.Error(), status)
	}
	h.ended(s, peer, err)
}

// answer answers a request, or returns the status with which to refuse it.
func (h *handler) answer(w http.ResponseWriter, r *http.Request) (
	s *Space, peer DeviceID, status int, err error,
) {
	body, err := readAll(http.MaxBytesReader(w, r.Body, postMax+1))
	if err != nil {
		return nil, peer, http.StatusRequestEntityTooLarge, err
	}
	id, _, err := ReadVector(bytes.NewReader(body))
	if err != nil {
		return nil, peer, http.StatusBadRequest, err
	}
	for _, served := range h.spaces {
		if served.ID() == id && served.device != nil {
			s = served
		}
	}
	if s == nil {
		return nil, peer, http.StatusNotFound, errors.New("there is no such space here")
	}
	if peer, err = s.authenticate(r.Header, body); err != nil {
		return nil, DeviceID{}, http.StatusUnauthorized, err
	}
	if h.sync.Admit != nil {
		if err := h.sync.Admit(s, peer); err != nil {
			return s, peer, http.StatusForbidden, err
		}
	}
	theirs, refused, err := s.unpack(r.Context(), body)
	if err == nil {
		err = s.Seal()
	}
	var denied error
	if err == nil {
		denied, err = endpoint{s}.MayRead(peer)
	}
	if err != nil {
		return s, peer, http.StatusInternalServerError, err
	}
	if denied != nil {
		s.noteRefusal(EntryID{}, denied)
		return s, peer, http.StatusForbidden, denied
	}
	answer, err := s.packet(r.Context(), theirs, postBytes)
	if err != nil {
		return s, peer, http.StatusInternalServerError, err
	}
	if errors.Is(refused, ErrInvalid) { // what is only missing comes with the next request
		w.Header().Set(headerRefused, strconv.QuoteToASCII(refused.Error()))
	}
	return s, peer, http.StatusOK, errors.Join(refused, s.reply(w, r, answer))
}

// authenticate returns the device that has signed a request.
func (s *Space) authenticate(h http.Header, body []byte) (peer DeviceID, err error) {
	if peer, err = ParseDeviceID(h.Get(headerDevice)); err != nil {
		return peer, fmt.Errorf("%s: %w", headerDevice, err)
	}
	audience, err := ParseDeviceID(h.Get(headerAudience))
	if err != nil {
		return peer, fmt.Errorf("%s: %w", headerAudience, err)
	}
	if audience != (DeviceID{}) && audience != s.device.ID() {
		return peer, fmt.Errorf("%w: this is %s", ErrPeerKey, s.device.ID())
	}
	at, err := strconv.ParseInt(h.Get(headerTime), 10, 64)
	if err != nil {
		return peer, fmt.Errorf("%s is not a number: %w", headerTime, ErrInvalid)
	}
	now := s.time()
	if sent := time.UnixMilli(at); sent.Before(now.Add(-postAhead)) || sent.After(now.Add(postAhead)) {
		return peer, fmt.Errorf("the clock of the device differs: here, it is %s: %w",
			now.UTC().Format(time.RFC3339), ErrInvalid)
	}
	return peer, checkSignature(h, peer, requestMessage(audience, at, body))
}

// reply sends a signed answer.
func (s *Space) reply(w http.ResponseWriter, r *http.Request, answer []byte) error {
	request, err := hex.DecodeString(r.Header.Get(headerSignature))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set(headerDevice, s.device.ID().String())
	h.Set(headerSignature,
		hex.EncodeToString(ed25519.Sign(s.device.key, answerMessage(request, answer))))
	_, err = w.Write(answer)
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

// requestMessage returns what a request signs.
func requestMessage(audience DeviceID, now int64, body []byte) []byte {
	m := append([]byte(domainRequest), audience[:]...)
	m = binary.BigEndian.AppendUint64(m, uint64(now))
	sum := sha256.Sum256(body)
	return append(m, sum[:]...)
}

// answerMessage returns what an answer signs.
func answerMessage(request, body []byte) []byte {
	m := append([]byte(domainAnswer), request...)
	sum := sha256.Sum256(body)
	return append(m, sum[:]...)
}
