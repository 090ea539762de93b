import { stepAt, totpCode } from '../../src/accounts/second-factor/totp.ts';
import type { OwnerBrowser } from './owner.ts';

/** An authenticator app that is on. */
export interface App {
  /** The code of now, or of so many steps later. The service accepts one step either way, and each code once. */
  code(later?: number): string;
  /** The code that turned it on. */
  readonly used: string;
  readonly recoveryCodes: readonly string[];
}

const security = '/app/security';

/** Turns codes on with the code of a step ago, so that two more can be accepted right away. */
export async function turnAppOn(browser: OwnerBrowser): Promise<App> {
  await browser.get(security);
  const page = await browser.submit(`${security}/codes/set-up`);
  const [, key = ''] = /<code class="secret">([^<]+)<\/code>/.exec(page.text) ?? [];
  const secret = fromBase32(key.replaceAll(' ', ''));
  const code = (later = 0) => totpCode(secret, stepAt(Date.now()) + BigInt(later));
  let used = code(-1);
  let on = await browser.submit(`${security}/codes/turn-on`, { code: used });
  // Its time may just have passed.
  if (on.status === 400) {
    used = code(-1);
    on = await browser.submit(`${security}/codes/turn-on`, { code: used });
  }
  if (on.status >= 400) throw new Error(`turning codes on answered ${on.status}`);
  return { code, used, recoveryCodes: readRecoveryCodes(on.text) };
}

export function readRecoveryCodes(text: string): string[] {
  return [...text.matchAll(/<li><code>([0-9a-z]{5}-[0-9a-z]{5})<\/code><\/li>/g)].map(([, code = '']) => code);
}

export function fromBase32(text: string): Buffer {
  const bits = [...text].map((one) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(one).toString(2).padStart(5, '0'));
  return Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
