import { setImmediate } from 'node:timers/promises';
import type { OpenApiDocument } from '../../kernel/http/openapi.ts';
import type { PageContext } from '../layout.ts';
import { markdownOf, proseAsMarkdown } from '../markdown.ts';
import { docsParts } from './docs-page.ts';
import { type Reference, readDocument } from './read-document.ts';
import { skillFile } from './skill.ts';

/**
 * The reference as text, by path: each chapter as a Markdown file, all of them as /docs.md, the index /llms.txt (llmstxt.org), the skill,
 * and everything in one file. Between two chapters other requests get their turn.
 */
export async function renderMachineDocs(
  document: OpenApiDocument,
  { base, mode }: Pick<PageContext, 'base' | 'mode'>,
): Promise<ReadonlyMap<string, string>> {
  const reference = readDocument(document);
  const { topics, introduction, chapters, errors } = docsParts(reference, base);
  const entries = [
    {
      file: 'introduction',
      name: 'Introduction',
      about: `what applies to every operation: ${topics.map(({ heading }) => heading).join(', ')}.`,
      section: introduction,
    },
    ...chapters.map(({ file, name, description, section }) => ({ file, name, about: description, section })),
    {
      file: 'errors',
      name: 'Error codes',
      about: `all ${reference.errors.length}, and what to do about each.`,
      section: errors,
    },
  ];
  const pages: (Omit<IndexEntry, 'path'> & { readonly path: string; readonly text: string })[] = [];
  for (const { file, name, about, section } of entries) {
    pages.push({ path: `/docs/${file}.md`, name, about, text: markdownOf(section(), `${reference.publicUrl}/docs`) });
    await setImmediate();
  }

  const whole = pages.map(({ text }) => text).join('\n');
  const skill = skillFile(reference, mode);
  const full = `${skill.text}\n${whole}`;
  return new Map([
    ['/docs.md', whole],
    ...pages.map(({ path, text }) => [path, withTitle(text, reference)] as const),
    ['/skill.md', `${skill.frontMatter}\n${skill.text}`],
    ['/llms-full.txt', full],
    ['/llms.txt', index(reference, { about: skill.about, pages, fullBytes: Buffer.byteLength(full) })],
  ]);
}

interface IndexEntry {
  readonly path: string;
  readonly name: string;
  readonly about: string;
}

/** A chapter begins with a heading of the second level. */
function withTitle(text: string, { title, baseUrl, publicUrl }: Reference): string {
  if (text.startsWith('# ')) return text;
  return `# ${title} API

A chapter of the [reference](${publicUrl}/llms.txt). Paths are relative to ${baseUrl}. [Introduction](${publicUrl}/docs/introduction.md): what applies to every operation.

${text}`;
}

function index(
  { title, description, publicUrl }: Reference,
  {
    about,
    pages,
    fullBytes,
  }: { readonly about: string; readonly pages: readonly IndexEntry[]; readonly fullBytes: number },
): string {
  const link = ({ path, name, about }: IndexEntry) => `- [${name}](${publicUrl}${path}): ${proseAsMarkdown(about)}`;
  return `# ${title}

> ${proseAsMarkdown(description)}

${about}

## Guide

${link({ path: '/skill.md', name: 'Skill', about: 'how an agent pays safely. Read this first; it is an Agent Skills file.' })}

## Reference

${pages.map(link).join('\n')}

## Optional

${[
  { path: '/api/openapi.json', name: 'OpenAPI', about: 'the same declarations as an OpenAPI 3.1 document.' },
  { path: '/docs.md', name: 'The whole reference', about: 'in one file.' },
  {
    path: '/llms-full.txt',
    name: 'Everything',
    about: `the skill and the whole reference, ${Math.ceil(fullBytes / 1000)} KB.`,
  },
  { path: '/docs', name: 'The reference for people', about: 'as a web page.' },
]
  .map(link)
  .join('\n')}
`;
}
