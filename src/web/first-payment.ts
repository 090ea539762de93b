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
  const register = `curl -s ${baseUrl}/agent/register ${json}`;
  const pay = (to: string) => `curl -s ${baseUrl}/agent/transfer ${key} ${json} \\
  -d '{"to":"${to}","amount":2.5,"currency":"USDC"}'`;
  if (mode === 'live') {
    return [
      {
        title: 'Open an account, and keep its key',
        command: `KEY=$(${register} \\
  -d '{"email":"you@example.com","password":"a long password","name":"You"}' | ${keepKey})`,
      },
      {
        title: 'Add money: open the link that this answers',
        command: `curl -s ${baseUrl}/circle/buy-session ${key} ${json} \\
  -d '{"amount":10}'`,
      },
      { title: 'Pay somebody by handle, email or phone', command: pay('somebody@example.com') },
    ];
  }
  return [
    {
      title: 'Open two accounts, and keep the key of the second',
      command: `for who in grace ada; do KEY=$(${register} \\
  -d '{"email":"'$who'@example.com","password":"correct horse","name":"'$who'"}' | ${keepKey}); done`,
    },
    {
      title: 'Put money into it',
      command: `curl -s ${baseUrl}/sandbox/fund ${key} ${json} \\
  -d '{"amount":10}'`,
    },
    { title: 'Pay the first', command: pay('grace@example.com') },
  ];
}
