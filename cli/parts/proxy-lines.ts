/** Lines that mend what a proxy does to requests, for those that are met most. */

export const proxies = ['nginx', 'caddy', 'haproxy'] as const;
export type ProxyName = (typeof proxies)[number];

/** What can be wrong in between. */
export type ProxyFault =
  | 'answer'
  | 'path'
  | 'headers'
  | 'underscores'
  | 'host'
  | 'address'
  | 'scheme'
  | 'cache'
  | 'errors'
  | 'methods'
  | 'body'
  | 'buffering'
  | 'compression'
  | 'silence'
  | 'sockets'
  | 'chain'
  | 'plain';

/** By proxy. A line behind a minus is to be taken out: nothing of the proxy's defaults does this. */
const lines: Readonly<Record<ProxyFault, Readonly<Record<ProxyName, readonly string[]>>>> = {
  answer: {
    nginx: ['proxy_pass http://127.0.0.1:3000;'],
    caddy: ['reverse_proxy 127.0.0.1:3000'],
    haproxy: ['server gateway 127.0.0.1:3000'],
  },
  path: {
    nginx: ['location / { proxy_pass http://127.0.0.1:3000; }'],
    caddy: ['-rewrite, uri'],
    haproxy: ['-http-request normalize-uri', '-http-request set-path, replace-path'],
  },
  headers: {
    nginx: ['proxy_pass_request_headers on;', '-proxy_set_header NAME "";'],
    caddy: ['-header_up -NAME'],
    haproxy: ['-http-request del-header NAME'],
  },
  underscores: {
    nginx: ['underscores_in_headers on;'],
    caddy: ['-header_up -session_id'],
    haproxy: ['-http-request del-header session_id'],
  },
  host: {
    nginx: ['proxy_set_header Host $http_host;'],
    caddy: ['header_up Host {hostport}'],
    haproxy: ['-http-request set-header Host'],
  },
  address: {
    nginx: ['proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;'],
    caddy: ['header_up X-Forwarded-For {remote_host}'],
    haproxy: ['option forwardfor'],
  },
  scheme: {
    nginx: ['proxy_set_header X-Forwarded-Proto $scheme;'],
    caddy: ['header_up X-Forwarded-Proto {scheme}'],
    haproxy: ['http-request set-header X-Forwarded-Proto https if { ssl_fc }'],
  },
  cache: {
    nginx: ['proxy_cache off;'],
    caddy: ['-cache'],
    haproxy: ['-http-request cache-use', '-http-response cache-store'],
  },
  errors: {
    nginx: ['proxy_intercept_errors off;'],
    caddy: ['-handle_response'],
    haproxy: ['-http-response return'],
  },
  methods: { nginx: ['-limit_except'], caddy: ['-@matcher method'], haproxy: ['-http-request deny if { method ... }'] },
  body: {
    nginx: ['client_max_body_size 64m;'],
    caddy: ['request_body {', '  max_size 64MB', '}'],
    haproxy: ['-http-request deny if { req.body_size ... }'],
  },
  buffering: {
    nginx: ['proxy_buffering off;', '-proxy_ignore_headers X-Accel-Buffering;'],
    caddy: ['reverse_proxy 127.0.0.1:3000 {', '  flush_interval -1', '}'],
    haproxy: ['option http-no-delay', '-http-response wait-for-body'],
  },
  compression: {
    nginx: ['gzip off;'],
    caddy: ['encode gzip {', '  match {', '    header Content-Type text/html*', '  }', '}'],
    haproxy: ['compression type application/json text/html text/css application/javascript'],
  },
  silence: {
    nginx: ['proxy_read_timeout 600s;'],
    caddy: ['reverse_proxy 127.0.0.1:3000 {', '  transport http {', '    response_header_timeout 600s', '  }', '}'],
    haproxy: ['timeout server 600s'],
  },
  sockets: {
    nginx: [
      'proxy_http_version 1.1;',
      'proxy_set_header Upgrade $http_upgrade;',
      'proxy_set_header Connection $connection_upgrade;',
    ],
    caddy: ['-header_up -Upgrade'],
    haproxy: ['timeout tunnel 3600s', '-http-request del-header Upgrade'],
  },
  chain: {
    nginx: ['ssl_certificate fullchain.pem;'],
    caddy: ['tls fullchain.pem key.pem'],
    haproxy: ['bind :443 ssl crt full-chain-and-key.pem'],
  },
  plain: {
    nginx: ['server { listen 80; return 301 https://$host$request_uri; }'],
    caddy: ['-auto_https off'],
    haproxy: ['http-request redirect scheme https unless { ssl_fc }'],
  },
};

/** @returns which proxy answers by its headers, '' = it does not say. */
export function proxyOf(headers: Headers): ProxyName | '' {
  const said = `${headers.get('server') ?? ''} ${headers.get('via') ?? ''}`;
  if (/nginx|openresty|tengine/i.test(said)) return 'nginx';
  if (/caddy/i.test(said)) return 'caddy';
  return /haproxy/i.test(said) ? 'haproxy' : '';
}

/** @param proxy '' = the lines of each. @param remove the word before what is to be taken out. @returns lines, those of several proxies below their names. */
export const proxyLines = (fault: ProxyFault, proxy: ProxyName | '', remove: string): readonly string[] =>
  (proxy === '' ? proxies : [proxy]).flatMap((name) => [
    ...(proxy === '' ? [`# ${name}`] : []),
    ...lines[fault][name].map((text) => (text.startsWith('-') ? `# ${remove} ${text.slice(1)}` : text)),
  ]);
