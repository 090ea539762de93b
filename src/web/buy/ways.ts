import { toDecimalText } from '../../money/amount.ts';
import { chains, homeChain } from '../../money/catalogue.ts';
import { type Html, html } from '../html.ts';
import { paymentRequest } from '../payment-request.ts';
import { qrCode } from '../qr-code.ts';
import { amountText } from '../words.ts';
import type { BuyView } from './view.ts';

/** The two ways to pay, as far as there are two. */
export function ways(view: BuyView): Html {
  const { link } = view;
  return html`${elsewhere(view)}
<div class="ways">
${view.sellers.length > 0 && byCard(view)}
${link.address === null || view.token === undefined ? notReachable(view) : byWallet(view)}
</div>`;
}

function byCard({ sellers }: BuyView): Html {
  const [only, ...others] = sellers;
  const whose = others.length === 0 && only !== undefined ? only.label : 'the company that takes it';
  return html`<section class="way">
<h2>Pay by card</h2>
<p>You enter your card at ${whose}. It never passes through here, and the money is added as soon as it was sent on.</p>
${sellers.map(
  ({ label, href }) =>
    html`<p class="act"><a class="button" href="${href}" rel="nofollow noreferrer">Pay by card${others.length > 0 && ` with ${label}`}</a></p>`,
)}
</section>`;
}

function byWallet({ link, token }: BuyView): Html {
  const { amount, chain, address } = link;
  const { name, chainId } = chains[chain];
  if (address === null || token === undefined) throw new Error('there is nowhere to pay to');
  const exact = toDecimalText(amount);
  const request = paymentRequest({ chainId, token, to: address, atomic: amount.atomic });
  return html`<section class="way">
<h2>Pay from an exchange or wallet</h2>
<div class="transfer">
<dl>
<div><dt>Network</dt><dd><strong>${name}</strong></dd></div>
<div><dt>Amount</dt><dd><strong>${exact} ${amount.asset}</strong> ${copyButton(exact, 'amount')}</dd></div>
<div class="address"><dt>Address</dt><dd><code>${address}</code> ${copyButton(address, 'address')}</dd></div>
</dl>
<div class="scan">${qrCode(request, `QR code for a wallet: ${exact} ${amount.asset} on ${name}`)}<p>Scan with a wallet, or <a href="${request}">open one on this phone</a></p></div>
</div>
<p class="warning"><strong>Only ${amount.asset}, and only on ${name}.</strong> Other coins, also such as USDC.e, are not added. What is sent on another network arrives late, or never. A payment of less than ${exact} ${amount.asset} is added to the balance, but this link goes on waiting: if your exchange takes a fee from what it sends, send that much more.</p>
</section>`;
}

/** Shown where there is a clipboard. */
function copyButton(text: string, what: string): Html {
  return html`<button type="button" class="copy" data-copy="${text}" aria-label="Copy the ${what}">Copy</button>`;
}

/** The currency has no contract on the chain that people spend on: what is possible instead, and what that means. */
function elsewhere({ link: { chain, amount } }: BuyView): Html | undefined {
  if (chain === homeChain) return undefined;
  const { name } = chains[chain];
  return html`<p class="remark">${amount.asset} cannot be received on ${chains[homeChain].name} here, so this link takes it on ${name}. It stays in the balance on ${name} and can be paid out there.</p>`;
}

function notReachable({ link: { chain, amount } }: BuyView): Html {
  return html`<section class="way">
<h2>Pay from an exchange or wallet</h2>
<p>${amountText(amount)} ${amount.asset} cannot be received on ${chains[chain].name} at the moment. Ask for a link in the other currency, or have somebody with an account here transfer it.</p>
</section>`;
}
