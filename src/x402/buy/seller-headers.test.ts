import { expect, test } from 'vitest';
import { isForSellers } from './seller-headers.ts';

const refusedOf = (names: string) => names.split(/\s+/).filter((name) => !isForSellers(name.toLowerCase()));

test('usual headers pass', () => {
  const names = `Accept Accept-Language Accept-Charset Accept-Version Authorization Content-Type Content-Language X-Api-Key
    Api-Key ApiKey Idempotency-Key Prefer Range If-None-Match If-Modified-Since If-Match If-Range Traceparent Tracestate
    X-Request-Id X-Correlation-Id X-Mine X-Goog-Api-Key X-Auth-Token X-Amz-Date X-Amz-Security-Token X-Amzn-Trace-Id
    X-Client-Id X-Client-Version X-Tenant-Id X-Session-Id X-Zip X-Membership X-RapidAPI-Key X-RapidAPI-Host
    Anthropic-Version XI-Api-Key Mcp-Session-Id Mcp-Protocol-Version X-Requested-With X-B3-TraceId X-IPFS-Cid`;
  expect(refusedOf(names)).toEqual([]);
});

test('headers that servers trust from their proxies are refused, in any spelling', () => {
  const names = `X-Forwarded X-Forwarded-For X-ForwardedFor X-Originating-IP X-Remote-IP X-Remote-Addr X-ProxyUser-Ip WL-Proxy-Client-IP
    X-Azure-ClientIP X-Azure-SocketIP X-Appengine-User-IP CF-Connecting-IP CF-Connecting-IPv6 CF-Pseudo-IPv4 CF-IPCountry
    Fly-Client-IP DO-Connecting-IP X-Vercel-Forwarded-For X-Nf-Client-Connection-Ip X-ARR-ClientIP X-Host X-Rewrite-URL
    X-Original-URL X-HTTP-Method-Override X-HTTP-Method X-Method-Override Remote-User X-Remote-User X-User-Id
    X-Goog-Authenticated-User-Email X-Amzn-Oidc-Identity X-Auth-Request-Access-Token X-Client-Cert X-Ms-Client-Principal
    X-Middleware-Subrequest X-Envoy-Original-Path Proxy Proxy-Authorization Max-Forwards Forwarded Via Client-IP True-Client-IP
    X-Real-IP X-Cluster-Client-IP X-Scheme Front-End-Https Origin Referer`;
  expect(refusedOf(names)).toEqual(names.split(/\s+/));
});

test('our own headers and hop-by-hop headers are refused', () => {
  const names = `Host Connection Keep-Alive Upgrade Expect TE Trailer Transfer-Encoding Content-Length Content-Encoding Accept-Encoding
    HTTP2-Settings X-Payment Payment-Signature User-Agent Cookie Cookie2 Sec-WebSocket-Key Sec-WebSocket-Version`;
  expect(refusedOf(names)).toEqual(names.split(/\s+/));
});
