import { expect, it } from 'vitest';
import { features } from '../../app/features.ts';
import { allSealed } from './sealed.ts';
import { sealPurposes } from './secrets.ts';

const declared = features.flatMap(({ sealed }) => sealed ?? []);

it('is declared for every purpose that something is sealed for', () => {
  expect(new Set(allSealed(declared).map(({ purpose }) => purpose))).toEqual(new Set(sealPurposes));
});

it('is missed when a feature forgets it, and refused when two say it', () => {
  const [first, ...others] = declared;
  expect(() => allSealed(others)).toThrow(`no feature declares where it stores sealed data for: ${first?.purpose}`);
  expect(() => allSealed([...declared, ...declared])).toThrow('is declared twice');
});
