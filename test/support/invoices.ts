import type { Client, Reply, TestAccount } from './client.ts';

/** What a person with an account does with invoices, through the API. */
export function useInvoices(client: () => Client) {
  const act = (account: TestAccount, path: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> =>
    client().request('POST', path, { key: account.key, headers });
  return {
    async funded(amount: number, currency = 'USDC'): Promise<TestAccount> {
      const account = await client().register();
      const { status, body } = await client().post('/sandbox/fund', { amount, currency }, account.key);
      if (status !== 200) throw new Error(`funding answered ${status}: ${JSON.stringify(body)}`);
      return account;
    },
    ask: (from: TestAccount, to: object, more: object = {}): Promise<Reply> =>
      client().post('/invoices', { amount: 10, currency: 'USDC', description: 'Lunch', ...to, ...more }, from.key),
    pay: (payer: TestAccount, id: string, headers?: Readonly<Record<string, string>>) =>
      act(payer, `/invoices/${id}/pay`, headers),
    cancel: (sender: TestAccount, id: string, headers?: Readonly<Record<string, string>>) =>
      act(sender, `/invoices/${id}/cancel`, headers),
    see: (account: TestAccount, id: string) => client().get(`/invoices/${id}`, account.key),
    async list(account: TestAccount, query = ''): Promise<{ id: string; direction: string }[]> {
      return (await client().get(`/invoices${query}`, account.key)).body.invoices;
    },
    balanceOf: async ({ key }: TestAccount) => (await client().get('/circle/balance', key)).body,
  };
}
