import { readFile } from 'node:fs/promises';
import { isScalar, isSeq, parseDocument } from 'yaml';
import type { Check, SuiteRun } from './run-suite.ts';

interface Entry {
  /** A scenario, or one of its checks: `scenario:check-id`. */
  readonly name: string;
  readonly reason: string;
}

/** What does not pass, as a file says. The suites know the part `server`; they call it a baseline. */
export interface Expectations {
  readonly fails: readonly Entry[];
  readonly skipped: readonly Entry[];
}

export async function readExpectations(file: string): Promise<Expectations> {
  const document = parseDocument(await readFile(file, 'utf8'));
  const entries = (key: string): Entry[] => {
    const list = document.get(key);
    if (!isSeq(list)) throw new Error(`${file} has no list named ${key}.`);
    return list.items.map((item) => {
      if (!isScalar(item)) throw new Error(`${file}: an entry of ${key} is no text.`);
      return { name: String(item.value), reason: item.comment?.trim() ?? '' };
    });
  };
  return { fails: entries('server'), skipped: entries('skipped') };
}

interface Verdicts {
  readonly fails: readonly string[];
  /** Not one check said anything about the server. */
  readonly skipped: readonly string[];
}

/** A warning is a failure, as for the suites. */
const isFailure = ({ status }: Check) => status === 'FAILURE' || status === 'WARNING';

export function verdictsOn({ scenarios }: SuiteRun, { fails: entries }: Expectations): Verdicts {
  const fails: string[] = [];
  const skipped: string[] = [];
  for (const [scenario, checks] of scenarios) {
    const failed = checks.filter(isFailure).map(({ id }) => id);
    const isByCheck = entries.some(({ name }) => name.startsWith(`${scenario}:`));
    // That every message fits the schema of the protocol is checked beside each scenario.
    const passed = checks.filter(({ id, status }) => status === 'SUCCESS' && id !== 'wire-schema-valid');
    if (failed.length > 0) {
      fails.push(...(isByCheck ? [...new Set(failed)].map((id) => `${scenario}:${id}`) : [scenario]));
    } else if (passed.length === 0) skipped.push(scenario);
  }
  return { fails: fails.sort(), skipped: skipped.sort() };
}

/** What the suite says about all failures of a run, expected ones too. */
export const explain = ({ scenarios }: SuiteRun) =>
  [...scenarios]
    .flatMap(([scenario, checks]) => checks.filter(isFailure).map((check) => ({ scenario, ...check })))
    .map(({ scenario, id, errorMessage }) => `${scenario}:${id} ${errorMessage ?? ''}`)
    .join('\n');

/** What the file says of the scenarios of a run. */
export function expectedOf({ scenarios }: SuiteRun, { fails, skipped }: Expectations): Verdicts {
  const ofRun = (entries: readonly Entry[]) =>
    entries
      .map(({ name }) => name)
      .filter((name) => scenarios.has(scenarioOf(name)))
      .sort();
  return { fails: ofRun(fails), skipped: ofRun(skipped) };
}

export const scenarioOf = (name: string) => name.replace(/:.*/, '');
