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

export const formPolicy = policyOf({ ...strict, 'form-action': "'self'" });

function policyOf(directives: Readonly<Record<string, string>>): string {
  return Object.entries(directives)
    .map(([name, value]) => `${name} ${value}`)
    .join('; ');
}
