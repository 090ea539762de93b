import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Logger } from '../log/logger.ts';
import { createSagaTroubles } from './saga-trouble.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const minutes = 60_000;

function troubles() {
  const told: string[] = [];
  const logger = { error: (_: object, message: string) => void told.push(message) } as unknown as Logger;
  const { tell } = createSagaTroubles(logger);
  const at = { saga: 'house_move', id: 'mov_1', lane: 'MATIC' };
  return { told, tell: (trouble: string, where: Partial<typeof at> = {}) => tell({ ...at, ...where }, trouble) };
}

test('the same trouble is told once, whoever meets it and however often', () => {
  const { told, tell } = troubles();
  for (const id of ['mov_1', 'mov_2', 'mov_1']) tell('no answer', { id });
  expect(told).toEqual(['a house move waits']);
});

test('another trouble, another lane and another saga are news', () => {
  const { told, tell } = troubles();
  tell('no answer');
  tell('no gas');
  tell('no answer', { lane: 'BASE' });
  tell('no answer', { saga: 'sweep' });
  expect(told).toHaveLength(4);
});

test('what lasts is not told again, and what comes again after a while is', () => {
  const { told, tell } = troubles();
  for (let time = 0; time < 10; time++) {
    tell('no answer');
    vi.advanceTimersByTime(9 * minutes);
  }
  expect(told).toHaveLength(1);
  vi.advanceTimersByTime(1 * minutes);
  tell('no answer');
  expect(told).toHaveLength(2);
});

test('only so many are remembered, those that were met last', () => {
  const { told, tell } = troubles();
  tell('no answer');
  for (let number = 0; number < 999; number++) tell(`trouble ${number}`);
  tell('no answer');
  expect(told).toHaveLength(1_000);
  tell('one more');
  tell('trouble 0');
  tell('no answer');
  expect(told).toHaveLength(1_002);
});
