import { scopesOf } from './authorization-request.ts';

export const paths = {
  resource: '/.well-known/oauth-protected-resource',
  server: '/.well-known/oauth-authorization-server',
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
} as const;

/** RFC 9728: where tokens for /mcp come from. */
export function describeResource(publicUrl: string) {
  return {
    resource: `${publicUrl}/mcp`,
    resource_name: 'Paywright',
    resource_documentation: `${publicUrl}/docs`,
    authorization_servers: [publicUrl],
    scopes_supported: scopesOf.mcp,
    bearer_methods_supported: ['header'],
  };
}

/** RFC 8414: what we can do as an authorization server. */
export function describeServer(publicUrl: string) {
  return {
    issuer: publicUrl,
    authorization_endpoint: `${publicUrl}${paths.authorize}`,
    token_endpoint: `${publicUrl}${paths.token}`,
    registration_endpoint: `${publicUrl}${paths.register}`,
    revocation_endpoint: `${publicUrl}${paths.revoke}`,
    service_documentation: `${publicUrl}/docs`,
    scopes_supported: scopesOf.mcp,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
}

/** For a request to /mcp without a key or token that works: where a client can get one. */
export function askForToken(publicUrl: string, { gaveOne }: { readonly gaveOne: boolean }): string {
  const error = gaveOne ? 'error="invalid_token", ' : '';
  return `Bearer ${error}resource_metadata="${publicUrl}${paths.resource}/mcp", scope="read pay"`;
}
