/** One of the commands that lead to a first payment. */
export interface Step {
  readonly title: string;
  readonly command: string;
}

const json = `-H 'Content-Type: application/json'`;
const key = `-H "Authorization: Bearer $KEY"`;
const keepKey = `grep -o 'pa_live_[0-9A-Za-z]*'`;

/** From nothing to a payment, to be pasted into a shell. In the sandbox they work as they are, and again when pasted again. */
export function firstPayment(baseUrl: string, mode: 'sandbox' | 'live'): readonly [Step, Step, Step] {
  const ask = (path: string, headers: readonly string[], body: string) =>
    [`curl -s ${baseUrl}${path}`, ...headers, `-d '${body}'`].join(' \\\n  ');
  const register = (body: string) => `KEY=$(${ask('/agent/register', [json], body)} | ${keepKey})`;
  const pay = (to: string) => ask('/agent/transfer', [key, json], `{"to":"${to}","amount":2.5,"currency":"USDC"}`);
  if (mode === 'live') {
    return [
      {
        title: 'Open an account, and keep its key',
        command: register('{"email":"you@example.com","password":"a long password","name":"You"}'),
      },
      {
        title: 'Add money: open the link that this answers',
        command: ask('/circle/buy-session', [key, json], '{"amount":10}'),
      },
      { title: 'Pay somebody by handle, email or phone', command: pay('somebody@example.com') },
    ];
  }
  return [
    {
      title: 'Open two accounts, and keep the key of the second',
      command: `for who in grace ada; do
${register(`{"email":"'$who'@example.com","password":"correct horse","name":"'$who'"}`)}
done`,
    },
    {
      title: 'Put money into it',
      command: ask('/sandbox/fund', [key, json], '{"amount":10}'),
    },
    { title: 'Pay the first', command: pay('grace@example.com') },
  ];
}
