import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { visibleText } from '../../../accounts/fields.ts';
import { type KeyNode, listTreeKeys, type TreeKey, toTree } from '../../../accounts/keys/key-tree.ts';
import { makeKey } from '../../../accounts/keys/make-key.ts';
import type { IssuedKey } from '../../../accounts/keys/shown-key.ts';
import { requireProvedSession } from '../../../accounts/sessions/owner-session.ts';
import type { Scope } from '../../../kernel/http/define-route.ts';
import type { Fields } from '../../../kernel/http/parse-form.ts';
import { Problem } from '../../../kernel/http/problem.ts';
import { dateTimeField } from '../../../kernel/http/read-moment.ts';
import { validate } from '../../../kernel/http/validate.ts';
import { codeBlock } from '../../code.ts';
import { type Html, html } from '../../html.ts';
import { choice, errorSummary, fieldNote, invalid } from '../fields.ts';
import type { OwnerPage, Shell, Visit } from '../shell.ts';
import { type KeyPageParts, ownerActor } from './key-parts.ts';

/** What a key may do, from the least to everything. */
const presets = {
  read: { scopes: ['read'], name: 'Look', note: 'Balances and history. It pays nothing.' },
  pay: {
    scopes: ['read', 'pay'],
    name: 'Look and pay',
    note: 'Transfers, invoices, orders, paid calls. Right for most agents.',
  },
  withdraw: {
    scopes: ['read', 'pay', 'withdraw'],
    name: 'Also withdraw',
    note: 'To addresses outside, such as an exchange.',
  },
  all: {
    scopes: ['read', 'pay', 'withdraw', 'manage'],
    name: 'Everything',
    note: 'Also create keys and change the account. Not for an agent that you want to limit.',
  },
} as const satisfies Record<string, { scopes: readonly Scope[]; name: string; note: string }>;

const presetNames = Object.keys(presets) as [keyof typeof presets];

const wish = z.object({
  once: z.string().regex(/^[\w-]{22}$/),
  name: visibleText(100),
  may: z.enum(presetNames, { error: 'must be one of these' }),
  parent: z.string().max(64).optional(),
  expires: dateTimeField.optional(),
});

interface CreateForm {
  /** Of this form. It creates one key, however often it is sent. */
  readonly once: string;
  readonly entered: Fields;
  readonly faults?: ReadonlyMap<string, string>;
  readonly status?: number;
}

export function addCreateKeyPage(shell: Shell, parts: KeyPageParts): void {
  const { db, clock, idleMs, context } = parts;

  async function formPage(visit: Visit, form: CreateForm): Promise<OwnerPage> {
    const { accountId } = visit.session;
    const tree = toTree(await listTreeKeys(db, { accountId, clock, idleMs }));
    const body = createForm(visit, { ...form, tree, base: context().base });
    return { title: 'Create a key', place: '/app/keys', body, ...(form.status && { status: form.status }) };
  }

  const showForm = async (visit: Visit) => {
    const parent = new URLSearchParams(visit.request.url.split('?')[1]).get('parent') ?? '';
    return formPage(visit, { once: newFormId(), entered: { parent, may: 'pay' } });
  };
  shell.page('/app/keys/new', showForm, { proof: true });

  const create = async (visit: Visit, entered: Fields): Promise<OwnerPage> => {
    try {
      const { issued, key } = await createOnce(parts, visit, entered);
      const { base } = context();
      const body = issued === undefined ? alreadyCreated(key, base) : createdKey(issued, base);
      return { title: issued?.name ?? 'Key already created', place: '/app/keys', body };
    } catch (error) {
      if (!(error instanceof Problem) || error.status >= 500 || error.code === 'session_ended') throw error;
      if (error.code === 'idempotency_in_progress') return { ...inProgress(context().base), status: error.status };
      // It has created nothing.
      return formPage(visit, { once: newFormId(), entered, faults: faultsOf(error), status: error.status });
    }
  };
  shell.form('/app/keys/new', create, { proof: true });
}

const incomplete = 'The form was incomplete, so nothing was created. Send it again.';

const newFormId = () => randomBytes(16).toString('base64url');

function faultsOf(problem: Problem): Map<string, string> {
  const faults = new Map<string, string>();
  for (const { path, message } of problem.extras.errors ?? []) {
    const field = fieldsOfPaths[path] ?? path;
    if (!faults.has(field)) faults.set(field, path === 'once' ? incomplete : message);
  }
  if (faults.size === 0) faults.set(fieldsOfProblems[problem.code] ?? '', problem.message);
  return faults;
}

const fieldsOfPaths: Readonly<Record<string, string>> = { expiresAt: 'expires', once: '' };

const fieldsOfProblems: Readonly<Record<string, string>> = {
  key_not_found: 'parent',
  key_tree_too_deep: 'parent',
  scope_required: 'may',
  key_outlives_maker: 'expires',
};

/**
 * The form's id is kept like an Idempotency-Key, with the id of the key and without its secret. Sent again, such as by a reload, the
 * form creates nothing, and the secret is not shown again.
 */
async function createOnce(parts: KeyPageParts, visit: Visit, entered: Fields) {
  const given = Object.fromEntries(
    Object.entries(entered).filter(([name, value]) => name in wish.shape && value !== ''),
  );
  const { once, name, may, parent, expires } = validate('body', wish, given) as z.output<typeof wish>;
  const actor = ownerActor(visit);
  const claim = { key: `form ${once}`, requestHash: parts.secrets.hash('forms', `create key ${once}`).toString('hex') };
  const answer = await parts.once({ caller: actor, idempotency: claim }, async (tx) => {
    const issued: IssuedKey | undefined = await makeKey(tx, parts, {
      actor,
      name,
      scopes: presets[may].scopes,
      parent,
      expiresAt: expires,
      proveOwner: (commit) => requireProvedSession(commit, visit.session),
    });
    return { status: 201, body: { key: issued.id }, issued: issued as IssuedKey | undefined };
  });
  return { issued: answer.issued, key: answer.body.key };
}

interface ShownForm extends CreateForm {
  readonly tree: readonly KeyNode<TreeKey>[];
  readonly base: string;
}

function createForm({ field }: Visit, { once, entered, faults = new Map(), tree, base }: ShownForm): Html {
  const { name = '', may = '', parent = '', expires = '' } = entered;
  return html`<h1>Create a key</h1>
<p class="lead">For one agent. What it may spend comes next.</p>
${errorSummary(faults)}
<form method="post" action="${base}/app/keys/new">
${field}<input type="hidden" name="once" value="${once}">
<label for="name">Name</label>
<input id="name" name="name" value="${name}" maxlength="100" required autocomplete="off"${invalid(faults, 'name')}${name === '' && html` autofocus`}>
${fieldNote(faults, 'name', 'To recognise it by, such as “Shopping agent”.')}
<fieldset${invalid(faults, 'may')}><legend>What it may do</legend>
${presetNames.map((preset) =>
  choice({
    type: 'radio',
    name: 'may',
    value: preset,
    isChosen: preset === may,
    label: presets[preset].name,
    note: presets[preset].note,
  }),
)}
${fieldNote(faults, 'may')}</fieldset>
<label for="parent">Below</label>
<select id="parent" name="parent"${invalid(faults, 'parent')}><option value="">No other key</option>${tree.flatMap((node) => options(node, parent))}</select>
${fieldNote(faults, 'parent', 'A key has at most the rights of the key above it, spends within its limits, and is revoked with it.')}
<label for="expires">Expires <span class="optional">optional</span></label>
<input id="expires" name="expires" type="date" value="${expires}"${invalid(faults, 'expires')}>
${fieldNote(faults, 'expires', 'At the end of this day, in UTC.')}
<button class="button">Create the key</button>
</form>`;
}

function options({ key, below }: KeyNode<TreeKey>, chosen: string): Html[] {
  const indent = '\u2003'.repeat(key.path.length - 1);
  return [
    html`<option value="${key.id}"${key.id === chosen && html` selected`}>${indent}${key.name} ${key.client ?? `…${key.last4}`}</option>`,
    ...below.flatMap((node) => options(node, chosen)),
  ];
}

function createdKey({ id, name, apiKey }: IssuedKey, base: string): Html {
  return html`<h1>${name}</h1>
<p class="lead">This is the key. It is shown only now: store it like a password, where the agent finds it.</p>
${codeBlock('API key', apiKey)}
<p class="then"><a class="button" href="${base}/app/keys/${id}">Set what it may spend</a></p>`;
}

/** For the second of two clicks, whose answer the browser shows instead of the first one's. */
function inProgress(base: string): OwnerPage {
  const body = html`<h1>This key is being created</h1>
<p class="lead">The form was sent twice. It creates one key, which an answer to the first click shows.</p>
<p class="hint">If you do not see it, open it among <a href="${base}/app/keys">all keys</a>, revoke it, and create another.</p>`;
  return { title: 'Key being created', place: '/app/keys', body };
}

function alreadyCreated(id: string, base: string): Html {
  return html`<h1>This key was created already</h1>
<p class="lead">The form was sent before, and created one key. It was shown then and cannot be shown again.</p>
<p class="hint">If you did not copy it, <a href="${base}/app/keys/${id}">open the key</a>, revoke it, and <a href="${base}/app/keys/new">create another</a>.</p>`;
}
