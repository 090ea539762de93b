import { taskOf } from '../../kernel/parser/task.ts';
import type { readPictureHeader } from './reading/picture-header.ts';
import type { readSmallJson } from './reading/read-answer.ts';
import type * as robots from './reading/robots.ts';

/** Parser tasks. Only the parser process loads the functions themselves, from `reading/`. */
export const readRobots = taskOf<typeof robots.readRobots>('readRobots');
export const mayRead = taskOf<typeof robots.mayRead>('mayRead');
export const readPicture = taskOf<typeof readPictureHeader>('readPictureHeader');
export const readJson = taskOf<typeof readSmallJson>('readSmallJson');
