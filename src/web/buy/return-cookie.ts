/**
 * Card companies send people back to a fixed address. A cookie for that address alone remembers the link, so that the company
 * never sees the token.
 */
const name = 'paywright_buy';
const lifetimeSeconds = 3_600;

export function rememberToken(token: string, base: string, publicUrl: string): string {
  const secure = publicUrl.startsWith('https:') ? '; Secure' : '';
  return `${name}=${token}; Path=${base}/buy/return; Max-Age=${lifetimeSeconds}; HttpOnly; SameSite=Lax${secure}`;
}

export function forgetToken(base: string): string {
  return `${name}=; Path=${base}/buy/return; Max-Age=0; HttpOnly; SameSite=Lax`;
}

export function readToken(cookies: string | undefined): string | undefined {
  const found = cookies?.split(/; */).find((cookie) => cookie.startsWith(`${name}=`));
  const token = found?.slice(name.length + 1);
  return token !== undefined && /^[\w-]{43}$/.test(token) ? token : undefined;
}
