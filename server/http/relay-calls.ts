/** The calls that an API key makes, for the OpenAPI document: one per route of the relay, and the list of models. */
import type { DocumentedCall } from '../contract/openapi.ts';
import { dialectMaker, type Operation, type RelayRoute, relayRoutes } from '../relay/intake/routes.ts';
import { bodiesOf } from './relay-bodies.ts';

type Words = DocumentedCall['summary'];

const words: Readonly<Record<Operation, Words>> = {
  chat: { zh: '对话', en: 'Chat' },
  count_tokens: { zh: '计算 Tokens 数', en: 'Count tokens' },
  completions: { zh: '文本补全', en: 'Text completion' },
  embeddings: { zh: '向量', en: 'Embeddings' },
  moderations: { zh: '内容审核', en: 'Moderation' },
  rerank: { zh: '重排', en: 'Rerank' },
  images: { zh: '生成图片', en: 'Generate images' },
  image_edits: { zh: '编辑图片', en: 'Edit images' },
  image_variations: { zh: '图片变体', en: 'Variations of an image' },
  speech: { zh: '语音合成', en: 'Speech' },
  transcriptions: { zh: '语音转文字', en: 'Transcription' },
  translations: { zh: '语音翻译', en: 'Translation of speech' },
  realtime: { zh: '实时对话', en: 'Realtime conversation' },
  drawing: { zh: '绘图任务', en: 'Drawing tasks' },
  music: { zh: '音乐任务', en: 'Music tasks' },
};

/** As members of a documented call. */
function schemasOf(route: Pick<RelayRoute, 'protocol' | 'operation'>): Pick<DocumentedCall, 'request' | 'response'> {
  const found = bodiesOf(route);
  if (found === null) return {};
  return { ...(found.request === null ? {} : { request: found.request }), response: found.response };
}

const idOf = (method: string, path: string): string =>
  `relay.${method.toLowerCase()}_${path
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')
    .toLowerCase()}`;

const models = (path: string, summary: Words): DocumentedCall => ({
  id: idOf('GET', path),
  method: 'GET',
  path,
  summary,
  body: 'none',
});

export const relayCalls: readonly DocumentedCall[] = [
  models('/v1/models', { zh: '可用模型', en: 'Models' }),
  models('/v1/models/{model}', { zh: '一个模型', en: 'One model' }),
  ...relayRoutes
    .filter(({ session }) => session !== true)
    .map(({ path, operation, protocol, body, stream }): DocumentedCall => {
      const { zh, en } = words[operation];
      const form = dialectMaker({ protocol });
      const streamed = stream === true ? { zh: '，流式', en: ', streamed' } : { zh: '', en: '' };
      return {
        id: idOf('POST', path),
        method: 'POST',
        path,
        summary: { zh: `${zh}（${form}${streamed.zh}）`, en: `${en} (${form}${streamed.en})` },
        body: body ?? 'json',
        ...schemasOf({ protocol, operation }),
      };
    }),
];
