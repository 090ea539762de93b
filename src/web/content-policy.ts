/** Allows styles, scripts and images from this service only, and nothing inline. */
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

/** For pages that call this service by script. */
export const livePolicy = policyOf({ ...strict, 'connect-src': "'self'" });

/** For a page with forms. Browsers also refuse a redirect after a form, unless the page names where it leads. */
export function formPolicy(leadsTo?: string): string {
  return policyOf({
    ...strict,
    'form-action': leadsTo === undefined ? "'self'" : `'self' ${sourceOf(new URL(leadsTo))}`,
  });
}

/** A policy knows no IPv6 addresses, and nothing but the scheme of an app. */
function sourceOf({ protocol, origin, hostname }: URL): string {
  return origin === 'null' || hostname.startsWith('[') ? protocol : origin;
}

function policyOf(directives: Readonly<Record<string, string>>): string {
  return Object.entries(directives)
    .map(([name, value]) => `${name} ${value}`)
    .join('; ');
}
