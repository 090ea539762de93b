/** Styles, the script and the mark come from here; everything else, and anything inline, is refused by the browser. */
const strict: Readonly<Record<string, string>> = {
  'default-src': "'none'",
  'style-src': "'self'",
  'script-src': "'self'",
  'img-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

export const contentPolicy = policyOf(strict);

/** For a page that is told by us how things go on. */
export const livePolicy = policyOf({ ...strict, 'connect-src': "'self'" });

/** For a page with a form that is sent to us. */
export const formPolicy = policyOf({ ...strict, 'form-action': "'self'" });

function policyOf(directives: Readonly<Record<string, string>>): string {
  return Object.entries(directives)
    .map(([name, value]) => `${name} ${value}`)
    .join('; ');
}
