// Asks the browser for a passkey when such a form is sent, and sends the form with what it answered. Binary fields are base64url in JSON.

const toBytes = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));
const toText = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
const withBytes = (named) => named.map((one) => ({ ...one, id: toBytes(one.id) }));

async function create(options) {
  const { challenge, user, excludeCredentials } = options;
  const publicKey = {
    ...options,
    challenge: toBytes(challenge),
    user: { ...user, id: toBytes(user.id) },
    excludeCredentials: withBytes(excludeCredentials),
  };
  const credential = await navigator.credentials.create({ publicKey });
  const { clientDataJSON, attestationObject } = credential.response;
  return described(credential, {
    clientDataJSON: toText(clientDataJSON),
    attestationObject: toText(attestationObject),
    transports: credential.response.getTransports?.() ?? [],
  });
}

async function get(options) {
  const { challenge, allowCredentials } = options;
  const publicKey = { ...options, challenge: toBytes(challenge), allowCredentials: withBytes(allowCredentials) };
  const credential = await navigator.credentials.get({ publicKey });
  const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response;
  return described(credential, {
    clientDataJSON: toText(clientDataJSON),
    authenticatorData: toText(authenticatorData),
    signature: toText(signature),
    ...(userHandle && { userHandle: toText(userHandle) }),
  });
}

function described({ id, rawId, type }, response) {
  return { id, rawId: toText(rawId), type, response, clientExtensionResults: {} };
}

for (const form of document.querySelectorAll('form[data-passkey]')) {
  if (window.PublicKeyCredential === undefined) continue;
  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const wrong = form.querySelector('.wrong');
    wrong.textContent = '';
    try {
      const options = JSON.parse(form.dataset.passkey);
      const answer = await (form.dataset.what === 'create' ? create(options) : get(options));
      form.elements.namedItem('answer').value = JSON.stringify(answer);
      form.submit();
    } catch (error) {
      wrong.textContent =
        error.name === 'InvalidStateError'
          ? 'This device has a passkey of your account already.'
          : 'No passkey was used. Try again.';
    }
  });
}
