import { userInfo } from 'node:os';

/** Who gives a command, as the machine knows them: whoever became root by sudo is named by their own name. */
export function operatorName(env: Readonly<Record<string, string | undefined>>): string {
  return env['SUDO_USER'] || nameOfUser();
}

/** In a container the user may have a number only. */
function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? '?'}`;
  }
}
