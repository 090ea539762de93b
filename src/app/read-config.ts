import { type Config, composeConfig } from '../config.ts';
import type { Given } from '../settings.ts';
import { features } from './features.ts';
import type { ListedFeature } from './listed-feature.ts';

/** The environment, as the service and its features understand it. */
export function readConfig(env: Given, list: readonly ListedFeature[] = features): Config {
  return composeConfig(env, list);
}
