import { expect, it, onTestFinished, vi } from 'vitest';
import { createLogger } from '../../kernel/log/logger.ts';
import { type SettleOptions, startSettling } from './settle-payments.ts';

it('rests while no payment is open, is woken by a claim, and looks by itself in case nobody told of one', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const query = vi.fn(async () => ({ rows: [{ open: false }] }));
  const listeners = new Map<string, () => void>();
  const loop = startSettling({
    db: { query },
    logger: createLogger('silent'),
    gatherMs: 60_000,
    wakes: {
      on(topic: string, listener: () => void) {
        listeners.set(topic, listener);
        return () => void listeners.delete(topic);
      },
      onReturn: () => () => {},
      restMs: () => 30_000,
    },
  } as unknown as SettleOptions);
  onTestFinished(() => loop.stop());

  await vi.advanceTimersByTimeAsync(4_999);
  expect(query).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(query).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(1_000);
  listeners.get('payment_claims')?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(query).toHaveBeenCalledTimes(3);
});
