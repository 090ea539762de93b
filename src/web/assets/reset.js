// Sets a new password with the token from the fragment of the address. The script removes the token at once, so that neither the
// browser history nor a screenshot keeps it.

const token = location.hash.slice(1);
history.replaceState(null, '', location.pathname);

const form = document.getElementById('reset');
const password = document.getElementById('password');
const wrong = document.getElementById('wrong');
const button = form.querySelector('button');
const revoke = document.getElementById('revoke');
const webhooks = document.getElementById('webhooks');

document.getElementById(/^pwr_\w+$/.test(token) ? 'reset' : 'missing').hidden = false;
if (!form.hidden) password.focus();

document.getElementById('show').addEventListener('change', ({ target }) => {
  password.type = target.checked ? 'text' : 'password';
});

// The API removes webhooks only together with keys.
webhooks.addEventListener('change', () => {
  if (webhooks.checked) revoke.checked = true;
});
revoke.addEventListener('change', () => {
  if (!revoke.checked) webhooks.checked = false;
});

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  wrong.textContent = '';
  button.disabled = true;
  try {
    const answer = await fetch(form.dataset.to, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        token,
        newPassword: password.value,
        revokeKeys: revoke.checked,
        endWebhooks: revoke.checked && webhooks.checked,
      }),
    });
    const body = await answer.json();
    if (answer.ok) showDone(body);
    else wrong.textContent = body.detail;
  } catch {
    wrong.textContent = 'The service cannot be reached. Check your connection and try again.';
  }
  button.disabled = false;
});

function showDone({ handle, isNewAccount, revokedKeys, keysLeft, webhooks: named }) {
  const account = isNewAccount ? `Your new account is ${handle}.` : `You can now sign in to your account ${handle}.`;
  const ended = revokedKeys === 0 ? '' : ` ${count(revokedKeys)} revoked.`;
  const left = keysLeft === 0 ? '' : ` ${count(keysLeft)} still valid.`;
  const told = named.length === 0 ? '' : ` ${tellOf(named)}`;
  document.getElementById('what').textContent = `${account}${ended}${left}${told} You can close this page.`;
  form.remove();
  const done = document.getElementById('done');
  done.hidden = false;
  done.focus();
}

function tellOf(named) {
  const many = named.length === 1 ? 'One webhook is' : `${named.length} webhooks are`;
  if (webhooks.checked) return `${many} removed.`;
  return `${many} still active and receiving your payment events: ${named.map(({ url }) => new URL(url).host).join(', ')}.`;
}

function count(keys) {
  return keys === 1 ? 'One API key is' : `${keys} API keys are`;
}
