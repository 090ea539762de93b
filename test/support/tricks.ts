import {
  type ContractCall,
  ProviderError,
  type TokenSend,
  type WalletProvider,
} from '../../src/custody/wallets/provider.ts';
import type { Queryable } from '../../src/kernel/db/database.ts';

/** What the wallet provider does instead of what it was asked. */
type Trick = 'refuses' | 'loses_the_answer' | 'does_not_hear' | 'is_asked_twice';

/** Tricks that a wallet provider plays on steps of a name, each once. */
export function createTricks(db: Queryable) {
  const tricks: { readonly step: string; readonly how: Trick }[] = [];

  async function playOn(id: string, ask: () => Promise<string>): Promise<string> {
    const { rows } = await db.query<{ step: string }>('SELECT step FROM chain_steps WHERE id = $1', [id]);
    const index = tricks.findIndex(({ step }) => step === rows[0]?.step);
    const [trick] = index < 0 ? [] : tricks.splice(index, 1);
    switch (trick?.how) {
      case 'refuses':
        throw new ProviderError('It is not allowed.', { retryable: false, code: 'forbidden' });
      case 'does_not_hear':
        throw noAnswer();
      case 'loses_the_answer':
        await ask();
        throw noAnswer();
      case 'is_asked_twice':
        return (await Promise.all([ask(), ask()]))[0];
      case undefined:
        return ask();
    }
  }

  return {
    on: (provider: WalletProvider): WalletProvider => ({
      ...provider,
      sendToken: (send: TokenSend) => playOn(send.idempotencyKey, () => provider.sendToken(send)),
      execute: (call: ContractCall) => playOn(call.idempotencyKey, () => provider.execute(call)),
    }),
    play(step: string, ...how: readonly Trick[]): void {
      tricks.push(...how.map((one) => ({ step, how: one })));
    },
    forget: () => void tricks.splice(0),
  };
}

function noAnswer(): ProviderError {
  return new ProviderError('The wallet provider does not answer.', { retryable: true, code: 'no_answer' });
}
