import { userInfo } from 'node:os';

/** The system user who runs the command; behind sudo, the original user. */
export function operatorName(env: Readonly<Record<string, string | undefined>>): string {
  return env['SUDO_USER'] || nameOfUser();
}

/** In a container the user may have no name. */
function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? '?'}`;
  }
}
