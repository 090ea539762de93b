import { type Html, html } from '../html.ts';

interface PasskeyForm {
  readonly action: string;
  /** JSON for `navigator.credentials`, from the service. */
  readonly options: string;
  readonly what: 'get' | 'create';
  /** Hidden fields, and any that the owner fills in. */
  readonly fields: Html;
  readonly button: string;
}

export const passkeyScript = 'passkey.js';

/** Hidden until the script finds that the browser knows passkeys. The script asks for one and sends the form with what it answered. */
export function passkeyForm({ action, options, what, fields, button }: PasskeyForm): Html {
  return html`<form class="passkey" method="post" action="${action}" data-passkey="${options}" data-what="${what}" hidden>
${fields}<input type="hidden" name="answer" value="">
<p class="wrong" role="alert"></p>
<button class="${what === 'get' ? 'button second' : 'button'}">${button}</button>
</form>`;
}
