import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  type AuthorizationRequest,
  answerAt,
  BadAuthorizationRequest,
  type RequestParts,
  readAuthorizationRequest,
} from '../../accounts/oauth/authorization-request.ts';
import { makeGrant } from '../../accounts/oauth/grant.ts';
import { paths } from '../../accounts/oauth/metadata.ts';
import { describeRedirect } from '../../accounts/oauth/redirect-uri.ts';
import type { Scope } from '../../kernel/http/define-route.ts';
import type { Fields } from '../../kernel/http/parse-form.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { dateTimeField } from '../../kernel/http/read-moment.ts';
import { validate } from '../../kernel/http/validate.ts';
import { setPolicy } from '../../policies/change-policy.ts';
import type { Policy } from '../../policies/policy.ts';
import { type Html, html } from '../html.ts';
import { choice, errorSummary, type Faults, fieldNote, invalid } from './fields.ts';
import { type KeyPageParts, ownerActor } from './keys/key-parts.ts';
import { emptyForm, faultsOf, type PolicyForm, policyOf, readPolicyForm } from './keys/policy-form.ts';
import { byField, policyFields } from './keys/policy-section.ts';
import type { Leaving, OwnerPage, Shell, Visit } from './shell.ts';

export type ConnectPageParts = KeyPageParts & RequestParts;

/** Where the owner lets a client use the account (OAuth). */
export function addConnectPage(shell: Shell, parts: ConnectPageParts): void {
  const show = (visit: Visit, shown: Omit<Shown, 'base'>) =>
    connectPage(visit, { ...shown, base: parts.context().base });

  shell.page(
    paths.authorize,
    async (visit) => {
      const query = queryOf(visit.request.url);
      return withRequest(query, async (request) => show(visit, { query, request, entered: startOf(parts) }));
    },
    { proof: true },
  );

  shell.form(paths.authorize, async (visit, fields) => {
    const { request: query = '', decision, shown } = fields;
    return withRequest(query, async (request) => {
      if (decision !== 'connect')
        return leave(request, { error: 'access_denied', error_description: 'The owner said no.' });
      if (!visit.session.isProved) return `/app/confirm?next=${encodeURIComponent(`${paths.authorize}?${query}`)}`;
      const entered = readForm(fields);
      if (shown !== shownHash(request)) {
        const faults = new Map([
          ['', 'The client has changed what it says about itself. Nothing was connected. Look again.'],
        ]);
        return show(visit, { query, request, entered, faults, status: 409 });
      }
      const wish = readWish(request, entered);
      if ('faults' in wish) return show(visit, { query, request, entered, faults: wish.faults, status: 400 });
      try {
        return leave(request, { code: await connect(visit, request, wish) });
      } catch (error) {
        if (!(error instanceof Problem) || error.status >= 500 || error.code === 'session_ended') throw error;
        return show(visit, { query, request, entered, faults: faultsIn(error), status: error.status });
      }
    });
  });

  async function withRequest(
    query: string,
    work: (request: AuthorizationRequest) => Promise<OwnerPage | Leaving | string>,
  ): Promise<OwnerPage | Leaving | string> {
    try {
      return await work(await readAuthorizationRequest(parts, Object.fromEntries(new URLSearchParams(query))));
    } catch (error) {
      if (error instanceof BadAuthorizationRequest) return badRequestPage(error);
      throw error;
    }
  }

  function leave(request: AuthorizationRequest, answer: Readonly<Record<string, string>>): Leaving {
    return { leaveTo: answerAt(request, parts.publicUrl(), answer) };
  }

  /** The key, its limits and the code are one commit. */
  function connect(visit: Visit, request: AuthorizationRequest, wish: Wish): Promise<string> {
    const { scopes, expiresAt, policy } = wish;
    const actor = ownerActor(visit);
    return parts.changes.everywhere(actor.accountId, async (tx) => {
      const { keyId, code } = await makeGrant(tx, parts, { actor, request, scopes, expiresAt });
      if (policy !== undefined) await setPolicy(tx, parts.secrets, { actor, key: keyId, ifMatch: null }, policy);
      return code;
    });
  }
}

/** Clients may leave further question marks in it as they are. */
function queryOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start + 1);
}

interface Entered {
  readonly scopes: readonly string[];
  readonly limits: string;
  readonly policy: PolicyForm;
  readonly expires: string;
}

const dayMs = 24 * 60 * 60_000;

/** Little, for a while, with questions beyond it. */
function startOf({ clock }: ConnectPageParts): Entered {
  return {
    scopes: ['read', 'pay'],
    limits: 'within',
    policy: { ...emptyForm, limits: { ...emptyForm.limits, day: '10' }, beyond: 'ask' },
    expires: new Date(clock.now() + 90 * dayMs).toISOString().slice(0, 10),
  };
}

function readForm(fields: Fields): Entered {
  const scopes = Object.keys(fields).flatMap((name) => (name.startsWith('scope-') ? [name.slice(6)] : []));
  const { limits = '', expires = '' } = fields;
  return { scopes, limits, policy: readPolicyForm(fields), expires: expires.trim() };
}

interface Wish {
  readonly scopes: readonly Scope[];
  readonly expiresAt: Date | undefined;
  readonly policy: Policy | undefined;
}

function faultsIn(problem: Problem): Faults {
  const ends = problem.extras.errors?.find(({ path }) => path === 'expiresAt');
  return ends === undefined ? byField(faultsOf(problem)) : new Map([['expires', ends.message]]);
}

const end = z.object({ expires: dateTimeField.optional() });

function readWish(request: AuthorizationRequest, entered: Entered): Wish | { readonly faults: Faults } {
  const scopes = request.scopes.filter((scope) => entered.scopes.includes(scope));
  if (scopes.length === 0) return { faults: new Map([['scopes', 'must name at least one thing']]) };
  const faults = new Map<string, string>();
  let expiresAt: Date | undefined;
  try {
    const given = entered.expires === '' ? {} : { expires: entered.expires };
    expiresAt = (validate('body', end, given) as z.output<typeof end>).expires;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    faults.set('expires', error.extras.errors?.[0]?.message ?? error.message);
  }
  const read = spends(scopes) && entered.limits !== 'none' ? policyOf(entered.policy, undefined) : undefined;
  if (read !== undefined && 'faults' in read)
    for (const [field, message] of byField(read.faults)) faults.set(field, message);
  if (read !== undefined && 'policy' in read && !isLimited(read.policy))
    faults.set('', 'You chose limits and set none. Set at least one, or choose “No limits”.');
  if (faults.size > 0) return { faults };
  return { scopes, expiresAt, policy: read !== undefined && 'policy' in read ? read.policy : undefined };
}

/** By an amount or by questions, and not only by what is paid for. */
function isLimited({ budgets, rules }: Policy): boolean {
  return budgets.length > 0 || rules?.some(({ effect }) => effect === 'ask') === true;
}

/** What the page said about the client, so that a document that changes meanwhile grants nothing. */
function shownHash({ client, redirectUri, scopes }: AuthorizationRequest): string {
  const shown = JSON.stringify([client.id, client.name, client.knownBy, redirectUri, scopes]);
  return createHash('sha256').update(shown).digest('base64url');
}

const scopeWords: Readonly<Record<Scope, { readonly label: string; readonly note: string }>> = {
  read: { label: 'Look', note: 'Balances, history, invoices, orders, and your name, email, phone and addresses.' },
  pay: {
    label: 'Pay',
    note: 'Transfers, also to other chains, invoices, orders, swaps, paid calls, within the limits below.',
  },
  withdraw: { label: 'Withdraw', note: 'To addresses outside, within the limits below.' },
  manage: { label: 'Manage', note: 'Create and revoke keys, and change the account.' },
};

interface Shown {
  readonly base: string;
  /** The request as the client sent it. */
  readonly query: string;
  readonly request: AuthorizationRequest;
  readonly entered: Entered;
  readonly faults?: Faults;
  readonly status?: number;
}

function connectPage(
  { session, field }: Visit,
  { base, query, request, entered, faults = new Map(), status = 200 }: Shown,
): OwnerPage {
  const { client, redirectUri, scopes, resource } = request;
  const body = html`<h1>Connect “${client.name}”?</h1>
<p class="lead">It asks to use your account ${session.handle}${resource === 'api' && ' with a key of its own'}. You can disconnect it at any time, under Keys.</p>
<dl class="terms"><div><dt>Name</dt><dd>${
    client.knownBy === undefined
      ? html`<q>${client.name}</q>, as it calls itself. Nobody has checked that.`
      : html`<q>${client.name}</q>, says <strong>${client.knownBy}</strong>`
  }</dd></div>
<div><dt>Answers to</dt><dd><strong>${describeRedirect(redirectUri)}</strong></dd></div></dl>
<p class="remark">Connect it only if you have just started this yourself.</p>
${errorSummary(faults)}
<form method="post" action="${base}${paths.authorize}">
${field}<input type="hidden" name="request" value="${query}"><input type="hidden" name="shown" value="${shownHash(request)}">
<fieldset${invalid(faults, 'scopes')}><legend>What it may do</legend>
${scopes.map((scope) =>
  choice({
    type: 'checkbox',
    name: `scope-${scope}`,
    isChosen: entered.scopes.includes(scope),
    label: scopeWords[scope].label,
    note: scopeWords[scope].note,
  }),
)}
${fieldNote(faults, 'scopes')}</fieldset>
${spends(scopes) && spendingFields(entered, faults)}
<label for="expires">Ends <span class="optional">optional</span></label>
<input id="expires" name="expires" type="date" value="${entered.expires}"${invalid(faults, 'expires')}>
${fieldNote(faults, 'expires', 'At the end of this day, in UTC. Before that it ends when it is not used for long.')}
<div class="decide"><button class="button" name="decision" value="connect">Connect</button>
<button class="button second" name="decision" value="cancel" formnovalidate>Cancel</button></div>
</form>`;
  return { title: 'Connect a client', place: '/app/keys', body, status, leadsTo: redirectUri };
}

const spends = (scopes: readonly Scope[]): boolean => scopes.includes('pay') || scopes.includes('withdraw');

function spendingFields({ limits, policy }: Entered, faults: Faults): Html {
  return html`<fieldset><legend>What it may spend</legend>
${choice({ type: 'radio', name: 'limits', value: 'within', isChosen: limits !== 'none', label: 'Within the limits below' })}
${choice({ type: 'radio', name: 'limits', value: 'none', isChosen: limits === 'none', label: 'No limits', note: 'Everything in your account.' })}
</fieldset>
${policyFields(policy, faults)}`;
}

function badRequestPage({ message, back }: BadAuthorizationRequest): OwnerPage {
  const body = html`<h1>This client cannot be connected</h1>
<p class="lead">${message}</p>
<p class="hint">Nothing was changed. The client must mend its request.${back !== undefined && html` <a href="${back}">Tell it what is wrong</a>`}</p>`;
  return { title: 'Connect a client', place: '/app/keys', body, status: 400 };
}
