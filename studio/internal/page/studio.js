// The page of the studio: exchanges the token in the address for a session, and shows the database.

const token = new URLSearchParams(location.hash.slice(1)).get('token');
if (token) {
  history.replaceState(null, '', location.pathname);
  await fetch('api/session', {
    method: 'POST',
    headers: {'Content-Type': 'application/json'},
    body: JSON.stringify({token}),
  });
}
const answer = await (await fetch('api/database')).json();
document.getElementById('studio').textContent = answer.error ?? JSON.stringify(answer);
