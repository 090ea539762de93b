import { chains } from '../../money/catalogue.ts';
import { type Html, html } from '../html.ts';
import { layout, type PageContext } from '../layout.ts';
import { amountText, moment, timeOfDay } from '../words.ts';
import { announcement, progress, remarks } from './progress.ts';
import { type BuyView, phaseOf } from './view.ts';
import { ways } from './ways.ts';

/** The page of a funding link. `eventsHref` is where it is told how things go on. */
export function buyPage(view: BuyView, eventsHref: string): Html {
  const { link, context } = view;
  return frame(
    {
      title: titleOf(view),
      description: `Add money to the account of ${link.name} (${link.handle}).`,
      body: html`
<main id="main" class="buy" data-events="${eventsHref}" data-phase="${phaseOf(link)}">
${buyMain(view)}
</main>
<p class="announced" role="status">${announcement(view)}</p>`,
    },
    context,
  );
}

export function titleOf({ link }: BuyView): string {
  const what = `${amountText(link.completion?.amount ?? link.amount)} ${link.amount.asset}`;
  if (link.status === 'completed') return `${what} was added`;
  return link.status === 'expired' ? 'This link has expired' : `Add ${what} for ${link.name}`;
}

/** What stands in the page; sent again whole when there is something else to do than before. */
export function buyMain(view: BuyView): Html {
  const { link } = view;
  switch (link.status) {
    case 'completed':
      return completed(view);
    case 'expired':
      return expired(view);
    default:
      return html`<article class="card">
<div class="asked">
<h1><span class="who">Add money for <bdi>${link.name}</bdi></span> <span class="amount">${amountText(link.amount)} <span class="unit">${link.amount.asset}</span></span></h1>
<p class="whom">It goes to account <code>${link.handle}</code>.${phaseOf(link) === 'paying' && until(link.expiresAt)}</p>
</div>
<div class="progress">${progress(view)}</div>
</article>
<noscript><p class="remark">This page cannot follow the payment by itself without JavaScript. When you have paid, <a href="">load it again</a> to see whether it has arrived.</p></noscript>
${phaseOf(link) === 'paying' ? html`${ways(view)}${caution(link.handle)}` : nothingLeft}`;
  }
}

const nothingLeft = html`<section class="next"><h2>Nothing left to do</h2><p>A payment is on its way. You may close this page: it is added to the balance all the same. Please do not pay again.</p></section>`;

function caution(handle: string): Html {
  return html`
<p class="note">Pay only if you expected this link. A name is whatever its owner chose; the handle <code>${handle}</code> belongs to one account for ever.</p>`;
}

/** The seconds that are left are counted by the page from now on, because its own clock may be wrong. */
function until(end: Date): Html {
  const left = Math.max(0, Math.round((end.getTime() - Date.now()) / 1_000));
  return html` This link works until ${timeOfDay(end)}<span class="left" data-left="${left}"></span>.`;
}

function completed({ link, context: { mode } }: BuyView): Html {
  const { completion, amount, name, handle, chain } = link;
  if (completion === undefined) throw new Error(`${link.id} is completed by nothing`);
  const more = completion.amount.atomic !== amount.atomic;
  return html`<section class="ending paid">
<p class="status paid">Paid</p>
<h1>${amountText(completion.amount)} ${amount.asset} was added</h1>
<p class="lead">It is in the balance of <bdi>${name}</bdi> (<code>${handle}</code>) since ${moment(completion.at)}.${more && ` This link had asked for ${amountText(amount)}.`}</p>
${remarks(link).map((remark) => html`<p class="remark">${remark}</p>`)}
<h2>What now?</h2>
<p>Nothing: you may close this page. The link is used up. To add more, ask for a new one.</p>
${mode === 'live' && html`<p class="note"><a href="${chains[chain].explorer}/tx/${completion.txHash}" rel="noopener noreferrer nofollow" target="_blank">The payment on ${chains[chain].name}</a></p>`}
</section>`;
}

function expired({ link }: BuyView): Html {
  const said = remarks(link);
  return html`<section class="ending">
<p class="status cancelled">Expired</p>
<h1>This link has expired</h1>
<p class="lead">It was for ${amountText(link.amount)} ${link.amount.asset} to <bdi>${link.name}</bdi> (<code>${link.handle}</code>), and worked until ${moment(link.expiresAt)}.</p>
${said.map((remark) => html`<p class="remark">${remark}</p>`)}
<h2>What now?</h2>
<p>Not paid yet? Ask for a new link, and use the address that it shows. Paid already? Then there is nothing to do: what arrives is added to the balance, also when it comes late.</p>
</section>`;
}

/** A token that opens nothing. */
export function missingPage(context: PageContext): Html {
  return sayingPage(
    {
      title: 'No such link',
      heading: 'There is no such link',
      text: html`Its address may have been cut short on its way. Ask whoever sent it to you for the whole of it, or for a new one.`,
    },
    context,
  );
}

/** Back from the card company, in a browser that does not know the link any more. */
export function returnPage(context: PageContext): Html {
  return sayingPage(
    {
      title: 'Back from the card company',
      heading: 'You are back',
      text: html`Open the link that you came from to see whether the payment has arrived. You need not: it is added to the balance by itself.`,
    },
    context,
  );
}

export function troublePage(context: PageContext, back: string | undefined): Html {
  return sayingPage(
    {
      title: 'Something is in the way',
      heading: 'Something is in the way',
      text: html`This did not work just now, and it is not your fault. Nothing was charged, and what you have paid already is safe. ${back === undefined ? html`<a href="">Try again</a> in a moment.` : html`<a href="${back}">Go back</a>, and try again in a moment or pay in the other way.`}`,
    },
    context,
  );
}

interface Saying {
  readonly title: string;
  readonly heading: string;
  readonly text: Html;
}

function sayingPage({ title, heading, text }: Saying, context: PageContext): Html {
  const body = html`
<main id="main">
<section class="missing"><h1>${heading}</h1>
<p class="lead">${text}</p></section>
</main>`;
  return frame({ title, description: heading, body }, context);
}

function frame(
  page: { readonly title: string; readonly description: string; readonly body: Html },
  context: PageContext,
): Html {
  const styles = ['invoice.css', 'buy.css'];
  return layout({ ...page, name: 'buy', styles, scripts: ['buy.js'], unlisted: true, plain: true }, context);
}
