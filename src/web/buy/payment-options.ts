import type { Hex } from 'viem';
import { toDecimalText } from '../../money/amount.ts';
import { chains, homeChain } from '../../money/catalogue.ts';
import { amountText } from '../format.ts';
import { type Html, html } from '../html.ts';
import { qrCode } from '../qr-code.ts';
import type { BuyView } from './progress.ts';

interface PaymentRequest {
  readonly chainId: number;
  readonly token: Hex;
  readonly to: Hex;
  readonly atomic: bigint;
}

/** An EIP-681 payment request, which wallets read from a QR code. */
export function paymentRequest({ chainId, token, to, atomic }: PaymentRequest): string {
  return `ethereum:${token}@${chainId}/transfer?address=${to}&uint256=${atomic}`;
}

export function paymentOptions(view: BuyView): Html {
  const { link } = view;
  return html`${elsewhere(view)}
<div class="ways">
${view.sellers.length > 0 && byCard(view)}
${link.address === null || view.token === undefined ? notReachable(view) : byWallet(view)}
</div>`;
}

function byCard({ sellers }: BuyView): Html {
  const [only, ...others] = sellers;
  const whose = others.length === 0 && only !== undefined ? only.label : 'the card company';
  return html`<section class="way">
<h2>Pay by card</h2>
<p>You enter your card details at ${whose}; we never see them. The money is added as soon as it arrives.</p>
${sellers.map(
  ({ label, href }) =>
    html`<p class="act"><a class="button" href="${href}" rel="nofollow noreferrer">Pay by card${others.length > 0 && ` with ${label}`}</a></p>`,
)}
</section>`;
}

function byWallet({ link, token }: BuyView): Html {
  const { amount, chain, address } = link;
  const { name, chainId } = chains[chain];
  if (address === null || token === undefined) throw new Error('the link has no address to pay to');
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
<div class="scan">${qrCode(request, `QR code for a wallet: ${exact} ${amount.asset} on ${name}`)}<p>Scan with a wallet, or <a href="${request}">open a wallet on this phone</a></p></div>
</div>
<p class="warning"><strong>Only ${amount.asset}, and only on ${name}.</strong> Other coins, such as USDC.e, are not added. A payment on another network arrives late or is lost. If your exchange deducts a fee, send that much more: a payment of less than ${exact} ${amount.asset} is added to the balance, but does not complete this link.</p>
</section>`;
}

/** The script shows it if the browser has a clipboard. */
function copyButton(text: string, what: string): Html {
  return html`<button type="button" class="copy" data-copy="${text}" aria-label="Copy the ${what}">Copy</button>`;
}

/** Explains a link on another chain, because the currency has no contract on the home chain. */
function elsewhere({ link: { chain, amount } }: BuyView): Html | undefined {
  if (chain === homeChain) return undefined;
  const { name } = chains[chain];
  return html`<p class="remark">${amount.asset} cannot be received on ${chains[homeChain].name}, so this link uses ${name}. The money stays in the balance on ${name} and can be withdrawn there.</p>`;
}

function notReachable({ link: { chain, amount } }: BuyView): Html {
  return html`<section class="way">
<h2>Pay from an exchange or wallet</h2>
<p>${amountText(amount)} ${amount.asset} cannot be received on ${chains[chain].name} at the moment. Ask for a link in the other currency, or for a transfer from another account.</p>
</section>`;
}
