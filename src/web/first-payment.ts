export interface Step {
  readonly title: string;
  readonly command: string;
}

const json = `-H 'Content-Type: application/json'`;
const key = `-H "Authorization: Bearer $KEY"`;
const keepKey = `grep -o 'pa_live_[0-9A-Za-z]*'`;

/** Commands to paste into a shell. In the sandbox they work unchanged, also when pasted a second time. */
export function firstPayment(baseUrl: string, mode: 'sandbox' | 'live'): readonly [Step, Step, Step] {
  const ask = (path: string, headers: readonly string[], body: string) =>
    [`curl -s ${baseUrl}${path}`, ...headers, `-d '${body}'`].join(' \\\n  ');
  const register = (body: string) => `KEY=$(${ask('/agent/register', [json], body)} | ${keepKey})`;
  const pay = (to: string) => ask('/agent/transfer', [key, json], `{"to":"${to}","amount":2.5,"currency":"USDC"}`);
  if (mode === 'live') {
    return [
      {
        title: 'Open an account and store its key',
        command: register('{"email":"you@example.com","password":"a long password","name":"You"}'),
      },
      {
        title: 'Add money: open the link in the response',
        command: ask('/circle/buy-session', [key, json], '{"amount":10}'),
      },
      { title: 'Pay by handle, email or phone', command: pay('somebody@example.com') },
    ];
  }
  return [
    {
      title: 'Open two accounts and store the key of the second',
      command: `for who in grace ada; do
${register(`{"email":"'$who'@example.com","password":"correct horse","name":"'$who'"}`)}
done`,
    },
    {
      title: 'Add money to it',
      command: ask('/sandbox/fund', [key, json], '{"amount":10}'),
    },
    { title: 'Pay the first account', command: pay('grace@example.com') },
  ];
}
