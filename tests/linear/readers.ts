/**
 * Everything that reads what callers and upstreams send, with what is hostile to it: `doubling.test.ts` asks each for at
 * most two and a half times the time for twice as much. A file that reads something new belongs into `files` of one.
 */

import { isRuleProblem, readOperations } from '../../server/contract/channel-rules.ts';
import type { ChatEvent, ProtocolId } from '../../server/protocols/canonical.ts';
import type { Codec, Wire } from '../../server/protocols/codec.ts';
import { jsonListFraming } from '../../server/protocols/gemini-generate/json-list.ts';
import { collectArguments } from '../../server/protocols/gemini-generate/partial-arguments.ts';
import { allCodecs, codecs } from '../../server/protocols/registry.ts';
import { hasExactNumbers, parseExact, parseJson } from '../../server/protocols/shared/json.ts';
import { foldedName, looseName } from '../../server/protocols/shared/member-name.ts';
import { ndjsonFraming } from '../../server/protocols/shared/ndjson.ts';
import { toolRestorer } from '../../server/protocols/shared/restore.ts';
import { type Framing, parseFrame, SseSplitter } from '../../server/protocols/shared/sse.ts';
import { taggedThoughts } from '../../server/protocols/shared/tagged-thoughts.ts';
import { unknownTarget } from '../../server/protocols/target.ts';
import { adapterOf } from '../../server/providers/adapter-registry.ts';
import { rulesFor, withinRules } from '../../server/providers/knowledge/apply.ts';
import { awsFraming } from '../../server/providers/signing/aws-event-stream.ts';
import { createWordWatch } from '../../server/relay/delivery/stop-words.ts';
import { readFrame } from '../../server/relay/endpoints/realtime/client-event.ts';
import { turnUsage } from '../../server/relay/endpoints/realtime/usage.ts';
import { readClientFrame, turnOf } from '../../server/relay/endpoints/responses-socket/client-frame.ts';
import { readCredential } from '../../server/relay/intake/authorize.ts';
import { readPartHead } from '../../server/relay/intake/form-part.ts';
import { scanForm } from '../../server/relay/intake/form-scan.ts';
import { editMembers, editPaths, outline } from '../../server/relay/intake/json-text.ts';
import { mediaIn } from '../../server/relay/intake/media.ts';
import { checkMembers } from '../../server/relay/intake/members.ts';
import { countedTexts, estimatedPromptTokens, readPrompt } from '../../server/relay/intake/prompt.ts';
import { forgivenPath, plainPath, relayRouteFor } from '../../server/relay/intake/routes.ts';
import { DeliveredTextTally } from '../../server/relay/shared/delivered-text.ts';
import { redact, withoutAccount } from '../../server/relay/shared/failure.ts';
import { safeType } from '../../server/relay/shared/safe-headers.ts';
import { withoutAbsurd, withoutAbsurdIn } from '../../server/relay/upstream/absurd-usage.ts';
import { PassthroughRelay, TranslatingRelay } from '../../server/relay/upstream/frame-relay.ts';
import { applyRules } from '../../server/routing/body-rules.ts';
import { featuresIn } from '../../server/routing/features.ts';
import { promptedBody } from '../../server/routing/system-prompt.ts';
import { fixtures } from '../protocols/fixtures.ts';
import { scenarios } from '../protocols/scenarios.ts';
import { another } from './amplify.ts';
import { type Case, growing, type Json, type Reader, texts, told } from './cases.ts';
import { requestReaders } from './request-readers.ts';

const encoder = new TextEncoder();
const inShared = (...names: readonly string[]): string[] => names.map((name) => `protocols/shared/${name}.ts`);
const piecesOf = (bytes: Uint8Array, size: number): Uint8Array[] => {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size));
  return pieces;
};

/** A stream cut into pieces of a few bytes each. */
const framing = (
  name: string,
  files: readonly string[],
  create: () => Framing,
  hostile: readonly string[],
): Reader => ({
  name,
  files,
  cases: [1, 7, 100].flatMap((size) =>
    hostile.map((pump) => ({
      name: `${JSON.stringify(pump)} by ${size}`,
      prepare(n) {
        const [before = '', unit = ''] = pump.split('…');
        const pieces = piecesOf(encoder.encode(before + unit.repeat(n)), size);
        return () =>
          told(() => {
            const one = create();
            for (const piece of pieces) one.advance(piece).frames();
            one.end();
          });
      },
    })),
  ),
});

function awsMessage(n: number): Uint8Array {
  const bytes = new Uint8Array(16 + n);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length);
  view.setUint32(8, Bun.hash.crc32(bytes.subarray(0, 8)));
  view.setUint32(bytes.length - 4, Bun.hash.crc32(bytes.subarray(0, bytes.length - 4)));
  return bytes;
}

const strictTarget = {
  ...unknownTarget,
  unsupported: new Set(['tools', 'stop', 'candidates', 'temperature', 'jsonFormat', 'prefill'] as const),
  inputs: ['image'] as const,
  outputCap: 10,
};

const wires: readonly Wire[] = [
  ['aws', { operation: 'chat', model: 'amazon.nova-pro-v1:0', keyKind: 'parts' }],
  ['tencent', { operation: 'chat', model: 'hunyuan', keyKind: 'parts' }],
  ['xunfei', { operation: 'chat', model: 'generalv3.5', keyKind: 'parts' }],
  ['baidu', { operation: 'chat', model: 'ERNIE-4.0-8K', keyKind: 'parts' }],
  ['dify', { operation: 'chat', model: 'dify', keyKind: 'secret' }],
  ['coze', { operation: 'chat', model: 'bot-1', keyKind: 'secret' }],
  ['palm', { operation: 'chat', model: 'chat-bison', keyKind: 'secret' }],
  ['ali', { operation: 'chat', model: 'qwen-max', keyKind: 'secret' }],
].flatMap(([slug, serving]) => adapterOf(slug as string)?.protocol?.(serving as never)?.wire ?? []);

const handMade: Readonly<Partial<Record<ProtocolId, Json>>> = {
  'cohere-chat': {
    model: 'm',
    messages: [
      { role: 'system', content: 's' },
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      {
        role: 'assistant',
        tool_plan: 'x',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'document', document: { id: 'd', data: 'x' } }] },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'f', parameters: { type: 'object', properties: { a: { type: 'string' } } } },
      },
    ],
    documents: [{ id: '1', data: { text: 't' } }],
    stop_sequences: ['a'],
  },
  'ollama-chat': {
    model: 'm',
    messages: [
      { role: 'user', content: 'hi', images: ['AAAA'] },
      { role: 'assistant', content: '', thinking: 't', tool_calls: [{ function: { name: 'f', arguments: { a: 1 } } }] },
      { role: 'tool', tool_name: 'f', content: 'r' },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }],
    options: { stop: ['a'] },
  },
};

const context = { model: 'm', responseId: 'req1', created: 1, includeUsage: true };

function requestsOf(codec: Codec): Reader {
  const bodies = [
    ...fixtures.flatMap(({ dialect, request }) => (dialect === codec.id && request !== null ? [request] : [])),
    ...(handMade[codec.id] === undefined ? [] : [handMade[codec.id]]),
  ];
  const readers: Readonly<Record<string, (body: Json) => unknown>> = {
    read: (body) => {
      const prompt = readPrompt(body);
      estimatedPromptTokens(prompt);
      countedTexts(prompt);
      featuresIn(body);
      const { kept, references, compaction } = codec.definition;
      kept?.requested(body);
      kept?.referenced?.(body);
      references?.requested(body);
      compaction?.summaryRequest(body);
      codec.foreignBlocks?.(body, { form: /^x/, unsigned: false, thoughtFirst: true });
    },
    ...Object.fromEntries(
      [
        ...allCodecs.map(({ id, translation }) => [id, translation] as const),
        ...wires.map((wire, at) => [`wire ${at}`, wire] as const),
      ].flatMap(([id, { encodeRequest }]) =>
        ([unknownTarget, strictTarget] as const).map((target, strict) => [
          `to ${id}${strict === 1 ? ' within limits' : ''}`,
          (body: Json) =>
            encodeRequest(codec.translation.decodeRequest(body, { model: 'm', stream: true }), [], target as never),
        ]),
      ),
    ),
  };
  return {
    name: `requests of ${codec.id}`,
    files: [
      `protocols/${codec.id}/`,
      ...inShared(
        'conversation-order',
        'documents',
        'dropped-fields',
        'effort',
        'extra-fields',
        'format-words',
        'media',
      ),
      ...inShared('model-limits', 'open-calls', 'search', 'signature', 'suffix', 'tools', 'turns', 'unread'),
      ...[
        'converse',
        'converse-request',
        'tencent',
        'xunfei',
        'spark-wire',
        'baidu',
        'transcript',
        'palm',
        'coze',
        'dify',
      ].map((name) => `providers/adapters/${name}.ts`),
      'routing/features.ts',
      'relay/intake/prompt.ts',
      'relay/intake/compaction.ts',
      'providers/knowledge/builtin-tools.ts',
    ],
    cases: bodies.flatMap((body) =>
      Object.entries(readers).flatMap(([name, read]) => growing(name, body, (grown) => read(grown as Json))),
    ),
  };
}

const written = (codec: Codec, events: readonly ChatEvent[]): Json[] => {
  const writer = codec.translation.writer(context);
  return events
    .map((event) => writer.write(event))
    .join('')
    .split(/\n\n|\n(?=\{)/)
    .flatMap((frame) => {
      const text = frame.startsWith('{') ? frame : parseFrame(`${frame}\n\n`).data;
      return text.startsWith('{') ? [JSON.parse(text) as Json] : [];
    });
};

/** Frames of a stream: each said again and again, in turn with others, and grown. */
function streamsOf(codec: Codec): Reader {
  const recorded = fixtures.flatMap(({ name, dialect, stream }) => {
    if (dialect !== codec.id || stream === null) return [];
    const frames = new SseSplitter()
      .push(stream)
      .flatMap(({ data }) => (data.startsWith('{') ? [JSON.parse(data) as Json] : []));
    return [[name, frames] as const];
  });
  const streams = [
    ...recorded,
    ...Object.entries(scenarios).map(([name, events]) => [name, written(codec, events)] as const),
  ];
  const readers: Readonly<Record<string, () => PassthroughRelay | TranslatingRelay>> = {
    'passed through': () => new PassthroughRelay(codec.upstream, false, Date.now),
    gathered: () => new TranslatingRelay(codec.upstream, null, Date.now),
    ...Object.fromEntries(
      allCodecs.map((other) => [
        `to ${other.id}`,
        () => new TranslatingRelay(codec.upstream, other.translation.writer(context), Date.now, taggedThoughts()),
      ]),
    ),
  };
  const play = (create: () => PassthroughRelay | TranslatingRelay, bytes: Uint8Array) => {
    const relay = create();
    for (const frame of new SseSplitter(1 << 30).push(bytes)) relay.pass(frame);
    relay.close(new Uint8Array(0));
    relay.owed(true);
    const events = relay.events();
    if (events.length > 0) for (const { translation } of allCodecs) translation.encodeResponse(events, context);
  };
  const bytesOf = (frames: readonly Json[]) =>
    encoder.encode(
      frames
        .map(
          (frame) =>
            `${typeof frame.type === 'string' ? `event: ${frame.type}\n` : ''}data: ${JSON.stringify(frame)}\n\n`,
        )
        .join(''),
    );
  return {
    name: `streams of ${codec.id}`,
    files: [
      `protocols/${codec.id}/`,
      ...inShared('markers', 'merge-usage', 'one-at-a-time', 'omitted', 'other-choices', 'ended-early'),
      'relay/upstream/frame-relay.ts',
      'relay/shared/delivered-text.ts',
    ],
    cases: streams.flatMap(([name, frames]) =>
      Object.entries(readers).flatMap(([to, create]): Case[] => [
        ...frames.flatMap((_, at) =>
          (['the same', 'others'] as const).map((way) => ({
            name: `${name} ${to}, frame ${at} again: ${way}`,
            prepare(n: number) {
              const times = Math.ceil(n / 32);
              const again = Array.from({ length: times }, (_none, index) =>
                way === 'the same' ? (frames[at] as Json) : (another(frames[at], index) as Json),
              );
              const bytes = bytesOf([...frames.slice(0, at), ...again, ...frames.slice(at)]);
              return () => told(() => play(create, bytes));
            },
          })),
        ),
        {
          name: `${name} ${to}, all again in turn`,
          prepare(n: number) {
            const inner = frames.slice(0, -1);
            const times = Math.ceil(n / 32 / Math.max(1, inner.length));
            const again = Array.from({ length: times }, (_, index) => another(inner, index) as Json[]).flat();
            const bytes = bytesOf([...again, ...frames]);
            return () => told(() => play(create, bytes));
          },
        },
        ...frames.flatMap((frame, at) =>
          growing(`${name} ${to}, frame ${at}`, frame, (grown) =>
            play(create, bytesOf([...frames.slice(0, at), grown as Json, ...frames.slice(at + 1)])),
          ),
        ),
      ]),
    ),
  };
}

function answersOf(codec: Codec): Reader {
  const answers = [
    ...fixtures.flatMap(({ dialect, response }) => (dialect === codec.id && response !== null ? [response] : [])),
    ...Object.values(scenarios).map((events) => codec.translation.encodeResponse(events, context)),
  ];
  return {
    name: `answers of ${codec.id}`,
    files: [
      `protocols/${codec.id}/`,
      ...inShared('blocks', 'citations', 'tool-usage', 'usage'),
      'relay/upstream/whole.ts',
    ],
    cases: answers.flatMap((answer) => [
      ...growing('read', answer, (grown) => {
        codec.upstream.readUsage(grown);
        codec.definition.kept?.made({}, grown);
      }),
      ...allCodecs.flatMap((other) =>
        growing(`to ${other.id}`, answer, (grown) =>
          other.translation.encodeResponse(codec.upstream.decodeResponse(grown), context),
        ),
      ),
    ]),
  };
}

const errorsOf = (codec: Codec): Reader =>
  texts(
    `errors of ${codec.id}`,
    [`protocols/${codec.id}/`, 'relay/shared/failure.ts'],
    (text) => {
      const { message } = codec.upstream.decodeError(400, text);
      withoutAccount(redact(message, ['sk-secret']));
    },
    ['{"error":{"message":"…a1.…"}}', '{"error":{"message":"…9,…"}}', '…<p>…', '…[…', '{"error":…{"error":…'],
  );

const textDeltas = (
  name: string,
  files: readonly string[],
  create: () => (event: ChatEvent) => unknown,
  words: readonly string[],
): Reader => ({
  name,
  files,
  cases: words.map((word) => ({
    name: JSON.stringify(word),
    prepare: (n) => () => {
      const take = create();
      take({ type: 'text-start', index: 0 });
      take({ type: 'tool-call-start', index: 1, id: 'c', name: 'free' });
      for (let times = 0; times < n / 8; times++) {
        take({ type: 'text-delta', index: 0, text: word });
        take({ type: 'tool-call-delta', index: 1, arguments: word });
      }
      take({ type: 'tool-call-end', index: 1 });
      take({ type: 'text-end', index: 0 });
    },
  })),
});

const json = (text: string): unknown => {
  const shape = outline(text, 1000);
  if (!shape.ok) return null;
  const body = JSON.parse(text) as Json;
  checkMembers({ text, shape }, body, {
    route: { path: '/v1/chat/completions', protocol: 'openai-chat', operation: 'chat' },
    model: null,
  });
  editPaths(text, [{ path: ['messages', 0, 'content'], value: '1' }]);
  return editMembers(text, shape, new Map([['stream', 'true']]));
};

const form = (text: string): void => {
  const scan = scanForm('b');
  for (const piece of piecesOf(Buffer.from(text), 64)) scan.push(piece);
  scan.end();
};

/** Turns of which many stand where a host does not take them. */
const turnRules: Reader = {
  name: 'order of turns',
  files: ['providers/knowledge/message-order.ts', 'providers/knowledge/apply.ts'],
  cases: [
    ['user', 'system'],
    ['tool', 'system'],
    ['user', 'user'],
    ['developer', 'developer'],
  ].flatMap((roles) =>
    ['x', [{ type: 'text', text: 'x' }]].map((content) => ({
      name: `${roles.join(', ')}: ${typeof content}`,
      prepare(n) {
        const messages = Array.from({ length: n }, (_, at) => ({ role: roles[at % 2], content }));
        const rules = rulesFor('custom', 'openai-chat', true, 'm');
        return () => withinRules({ messages }, rules, []);
      },
    })),
  ),
};

/** Bodies that a channel's rules walk through, as a caller may make them. */
const channelRules: Reader = {
  name: 'rules of a channel',
  files: ['routing/body-rules.ts', 'routing/system-prompt.ts'],
  cases: [
    [{ mode: 'set', path: 'messages.*.name', value: 1 }],
    [{ mode: 'delete', path: 'messages.*.content' }],
    [{ mode: 'delete', path: 'messages.*' }],
    [{ mode: 'to_upper', path: 'messages.*.content' }],
    [{ mode: 'prune_objects', path: '', value: { where: { role: 'user' } } }],
    [{ mode: 'prune_objects', path: 'messages', value: 'x' }],
    [{ mode: 'delete', path: 'user', conditions: [{ path: 'messages', mode: 'contains', value: 'xy' }] }],
    [{ mode: 'replace', path: 'text', from: 'x', to: 'yy' }],
    [{ mode: 'regex_replace', path: 'text', from: 'x', to: 'y' }],
    [{ mode: 'append', path: 'messages', value: 1 }],
  ].map((rules) => ({
    name: JSON.stringify(rules),
    prepare(n) {
      const messages = Array.from({ length: n }, () => ({ role: 'user', content: 'x' }));
      const body = { messages, text: 'x'.repeat(n) };
      const operations = readOperations(rules);
      if (isRuleProblem(operations)) throw new Error(operations.field);
      const context = { model: 'm', upstream_model: 'm', original_model: 'm', request_path: '/' };
      const prompt = { text: 'x', before: true };
      return () => {
        const prompted = promptedBody(body, { member: 'messages', form: 'turns' }, prompt);
        applyRules(operations, prompted, context, { channel: { id: 1 }, operation: 'chat' });
      };
    },
  })),
};

export const readers: readonly Reader[] = [
  turnRules,
  channelRules,
  framing('events', ['protocols/shared/sse.ts'], () => new SseSplitter(1 << 30), [
    'data: {"a":"…x',
    '…\r',
    '…\n',
    '…data: {}\n',
    'data: {}\ndata: {"a":"…x',
    '…data: {"a":1}\n\n',
    '…: \r\n\r',
    '…data:\r',
  ]),
  framing('lines of JSON', ['protocols/shared/ndjson.ts'], ndjsonFraming, ['{"a":"…x', '…\n', '…{}\n']),
  framing('a list of JSON', ['protocols/gemini-generate/json-list.ts'], jsonListFraming, [
    '[{"a":"…x',
    '[…{},',
    '…{',
    '{"a":"…\\',
  ]),
  {
    name: 'messages of AWS',
    files: ['providers/signing/aws-event-stream.ts'],
    cases: [1, 100].map((size) => ({
      name: `one by ${size}`,
      prepare(n) {
        const pieces = piecesOf(awsMessage(n), size);
        return () => {
          const one = awsFraming(() => ({ event: 'chunk', data: '{}' }));
          for (const piece of pieces) one.advance(piece);
        };
      },
    })),
  },
  texts(
    'counts that cannot be',
    ['relay/upstream/absurd-usage.ts'],
    (text) => {
      withoutAbsurdIn({ text }, Buffer.from(text));
      withoutAbsurd(Buffer.from(text), parseJson(text));
    },
    [
      '{"usage":{"a":[1…,{"x_tokens":-1}…]}}',
      '{"usage":{"a":[1…,{"x_tokens":1}…],"x_tokens":-1}}',
      '{"choices":[1…,{"usage":{"x_tokens":-1}}…]}',
      '[1…,{"usageMetadata":{"tokenCount":-1}}…]',
      '{"x_tokens":…"x_tokens"…-1}',
      '{"x_tokens":…        …-1}',
      '…{…"x_tokens":-1…}…',
    ],
  ),
  texts(
    'JSON bodies',
    ['relay/intake/json-text.ts', 'relay/intake/members.ts', 'protocols/shared/member-name.ts'],
    json,
    [
      '{"a":"…\\"…"}',
      '{"a":"…\\\\…"}',
      '{"a":1…   …}',
      '{"a":[…1,…1]}',
      '…{"a":…',
      '{"…\\u0061…":1}',
      '{"…é…":1}',
      '{"…\u0301\u0316…":1}',
      '{"… …model":1}',
      '{"stream_options":{"…\u0301\u0316…":1}}',
      '{"messages":[{"content":"…x y …"}]}',
    ],
  ),
  texts('names', ['protocols/shared/member-name.ts'], (text) => [foldedName(text), looseName(text)], [
    '…\u0316\u0301…',
    '…\ufdfa…',
    '…\ud800…',
    '…İ…',
  ]),
  texts('exact numbers', ['protocols/shared/json.ts'], (text) => hasExactNumbers(text) && parseExact(text), [
    '[…1234567890.12345678,…1]',
    '["…123456789012345 …"]',
    '[…1…]',
    '["…1e30x…"]',
    '["…:1.1…e"]',
    '…[…',
  ]),
  texts(
    'media',
    ['relay/intake/media.ts'],
    (text) => {
      const part = { type: 'image_url', image_url: { url: text } };
      mediaIn(text, { key: 'url', owner: part.image_url, ownerKey: 'image_url', part });
      mediaIn(text, { key: 'data', owner: { data: text, format: 'wav' }, ownerKey: 'input_audio', part });
      mediaIn(text, { key: 'file_data', owner: { file_data: text }, ownerKey: 'file', part });
    },
    [
      'data:image/png;base64,A…\n…!',
      '…\n…!',
      'A…\r\n…=\n!',
      'A…=…',
      'data:…;a…',
      'data:image/png;base64,/9j/4AAQ…/+EAAg…',
      '…A…=',
      'JVBERi0…A…',
    ],
  ),
  texts('forms', ['relay/intake/form.ts', 'relay/intake/form-scan.ts'], form, [
    '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n…\r\n--…',
    '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n…-…',
    '--b\r\n…a: b\r\n…',
    '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n--b--…\r\n…',
    '…\r\n--b…',
  ]),
  texts('heads of parts', ['relay/intake/form-part.ts'], readPartHead, [
    'Content-Disposition: form-data; name="…a…"; x',
    'Content-Disposition: form-data; name=…a…;',
    'Content-Disposition: form-data; name="a"; filename="…;…',
    'Content-Disposition: form-data; name="a"…; filename="x"…',
    'a: …b\r\n:…',
  ]),
  texts('addresses', ['relay/intake/routes.ts'], (text) => relayRouteFor(plainPath(forgivenPath(text))), [
    '…/v1…',
    '…/…',
    '/v1beta/models/…a:…generateContent',
    '/v1/engines/…a/…embeddings',
    '…/v1/v1beta…',
    '/v1/files…/…',
  ]),
  texts(
    'credentials',
    ['relay/intake/authorize.ts'],
    (text) => readCredential(new Request('http://x/v1?a=b', { headers: { authorization: text.trim() || 'x' } })),
    ['Bearer… …x', 'Bearer sk-…sk-…', 'sk-…-…', 'Bearer …a-…'],
  ),
  texts('content types', ['relay/shared/safe-headers.ts'], safeType, [
    'audio/…xm…',
    'text/plain…; a=b…!',
    'text/…a…;',
    'text/plain; a="…a…',
  ]),
  texts(
    'events of conversations',
    ['relay/endpoints/realtime/client-event.ts', 'relay/endpoints/realtime/usage.ts'],
    (text) => turnUsage(readFrame(text)),
    ['{"type":"session.update","session":{"a":[…1,…1]}}', '{"type":"…\\"…"}', '…[…'],
  ),
  texts(
    'turns of a socket for responses',
    ['relay/endpoints/responses-socket/client-frame.ts'],
    (text) => {
      const frame = readClientFrame(text);
      return frame === null ? null : turnOf({ ...frame, event: { ...frame.event, input: [] } }, '1');
    },
    ['{"type":"response.create","input":[…1,…1]}', '{…"a":1,…"b":1}', '{"input":"…\\"…"}', '…{…'],
  ),
  textDeltas('words of thoughts in a text', ['protocols/shared/tagged-thoughts.ts'], taggedThoughts, [
    ' ',
    '<',
    '<think>',
    '<think> ',
    '</thin',
    '\n',
  ]),
  textDeltas(
    'free text of a tool',
    ['protocols/shared/restore.ts'],
    () =>
      toolRestorer([{ kind: 'custom', name: 'free', description: null, schema: null, strict: null }])?.() ?? (() => []),
    ['x', '\\"'],
  ),
  textDeltas(
    'words of the operator',
    ['relay/delivery/stop-words.ts', 'relay/shared/delivered-text.ts'],
    () => {
      const tally = new DeliveredTextTally();
      const watch = createWordWatch(['secret', 'aaaaaaaab']);
      return (event) => {
        tally.take(event);
        watch?.(tally);
      };
    },
    ['a', 'sec', ' '],
  ),
  {
    name: 'arguments in pieces',
    files: ['protocols/gemini-generate/partial-arguments.ts'],
    cases: [
      ['one text', () => '$.a'],
      ['a list', (index: number) => `$.list[${index}]`],
      ['members', (index: number) => `$.m${index}`],
      ['a deep place', () => '$.a.b.c[0].d'],
      ['a path that never ends', () => `$${"['".repeat(20)}`],
    ].map(([name, pathOf]) => ({
      name: name as string,
      prepare: (n: number) => () => {
        const collected = collectArguments();
        for (let index = 0; index < n / 32; index++)
          collected.take([
            { jsonPath: (pathOf as (index: number) => string)(index), stringValue: 'x', willContinue: true },
          ]);
        collected.whole();
      },
    })),
  },
  ...requestReaders,
  ...Object.values(codecs).flatMap((codec) => [requestsOf(codec), streamsOf(codec), answersOf(codec), errorsOf(codec)]),
];
