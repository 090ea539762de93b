import { taskOf } from '../../kernel/parser/task.ts';
import type { readPictureHeader } from './reading/picture-header.ts';
import type { readSmallJson } from './reading/read-answer.ts';
import type * as robots from './reading/robots.ts';

/** What the parser reads for us. The functions themselves are in `reading/`, which only its process loads. */
export const readRobots = taskOf<typeof robots.readRobots>('readRobots');
export const mayRead = taskOf<typeof robots.mayRead>('mayRead');
export const readPicture = taskOf<typeof readPictureHeader>('readPictureHeader');
export const readJson = taskOf<typeof readSmallJson>('readSmallJson');
