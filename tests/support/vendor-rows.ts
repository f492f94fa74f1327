/**
 * What each list, number and choice of words in the vendors' request types does to the work: it multiplies it, lowers what
 * a unit of it costs, or neither. The types are the source of a row, with what their comments say of a member; where
 * another page decides, the reason names it. A path has `[]` for the items of a list and `{}` for any name.
 */
export interface VendorRows {
  readonly name: string;
  /** Files below `node_modules`, and the request types in them. */
  readonly types: readonly (readonly [file: string, ...names: string[]])[];
  /** Places where a vendor nests what stands elsewhere too: it has one row. */
  readonly same?: readonly (readonly [place: RegExp, plain: string])[];
  /** Members that do more of the work. */
  readonly multiplies: string;
  /** Members that choose what a unit costs, or make less of it: they are read by the dearest of their readings. */
  readonly lowers: Readonly<Record<string, string>>;
  /** By reason. */
  readonly neither: Readonly<Record<string, string>>;
}

const openai = 'openai/resources';
const anthropic = '@anthropic-ai/sdk/resources';
const google = '@google/genai/dist/genai.d.ts';

const words = 'what is read: every word and every picture, sound and file of it is counted';
const sampling = 'how words are chosen';
const form = 'the form of the answer';
const choice = 'which tools may be called, and by whom';
const parts = 'kinds and places of parts that are counted by what they carry';
const results = 'results of earlier work, read as words';
const length = 'how finely a picture is read: held for as finely as the model reads';
const caching = 'what is written to a cache is held for at the longest life that is asked for';
const thinking = 'thoughts are part of the answer, or held for beside it';
const tier = 'terms without a price here never go upstream';
const filters = 'what a search leaves out';
const client = 'acted upon by the client alone';
const model = 'the models that are priced';
const safety = 'what is refused';

export const vendorRows: readonly VendorRows[] = [
  {
    name: 'chat completions',
    types: [[`${openai}/chat/completions/completions.d.ts`, 'ChatCompletionCreateParams']],
    multiplies: 'n max_tokens max_completion_tokens',
    lowers: {
      [length]: 'messages[].content[].image_url.detail',
      [tier]: 'service_tier',
      [thinking]: 'reasoning_effort',
      [caching]: `messages[].content[].prompt_cache_breakpoint.ttl prediction.content[].prompt_cache_breakpoint.ttl
        prompt_cache_options.mode prompt_cache_retention`,
      'a search is held for at the price of its dearest size': 'web_search_options.search_context_size',
      'sound is dearer than words': 'modalities modalities[]',
    },
    neither: {
      [words]: 'messages messages[].content prediction.content tools functions messages[].tool_calls',
      [parts]: `messages[].content[].type messages[].role messages[].tool_calls[].type
        messages[].content[].input_audio.format tools[].type tools[].custom.format.type
        tools[].custom.format.grammar.syntax`,
      [sampling]: 'frequency_penalty logit_bias{} presence_penalty seed stop temperature top_p',
      [form]: 'audio.format audio.voice response_format.type top_logprobs verbosity',
      [choice]: `function_call tool_choice tool_choice.type tool_choice.allowed_tools.mode
        tool_choice.allowed_tools.tools`,
      [model]: 'model',
      [safety]: 'moderation.policy.input.mode moderation.policy.output.mode',
    },
  },
  {
    name: 'completions',
    types: [[`${openai}/completions.d.ts`, 'CompletionCreateParams']],
    multiplies: 'n best_of prompt prompt[] prompt[][] max_tokens',
    lowers: {},
    neither: {
      [sampling]: 'frequency_penalty logit_bias{} presence_penalty seed stop temperature top_p',
      [form]: 'logprobs',
      [model]: 'model',
    },
  },
  {
    name: 'responses',
    types: [
      [`${openai}/responses/responses.d.ts`, 'ResponseCreateParams', 'ResponseCompactParams'],
      [`${openai}/responses/input-tokens.d.ts`, 'InputTokenCountParams'],
    ],
    same: [
      [/^input\[\]\.tools\[\]/, 'tools[]'],
      [/^input\[\]\.actions\[\]/, 'input[].action'],
    ],
    multiplies: 'max_output_tokens tools[].max_num_results',
    lowers: {
      [tier]: 'service_tier',
      [thinking]: 'reasoning.effort reasoning.mode input[].reasoning.effort tools[].svg.reasoning.effort',
      [caching]: `input[].content[].prompt_cache_breakpoint.ttl input[].output[].prompt_cache_breakpoint.ttl
        prompt.variables{}.prompt_cache_breakpoint.ttl prompt_cache_options.mode prompt_cache_options.ttl
        prompt_cache_retention`,
      [length]: 'input[].content[].detail input[].output[].detail prompt.variables{}.detail image.context_compression',
      'a tool is held for at the price of its dearest variant': `tools[].container.memory_limit
        tools[].environment.memory_limit tools[].quality tools[].size tools[].search_context_size tools[].complexity
        tools[].input_fidelity tools[].model`,
      'fewer calls than usual are held for by no word of the request': 'max_tool_calls',
    },
    neither: {
      [words]: `input input[].content input[].output input[].outputs input[].results input[].summary input[].tools
        tools tools[].tools input[].environment.skills tools[].environment.skills`,
      [parts]: `input[].caller.type input[].content[].type input[].environment.type input[].output[].type
        input[].outputs[].type input[].role input[].text.format.type input[].type prompt.variables{}.type
        tools[].environment.skills[].type tools[].environment.type tools[].format.syntax tools[].format.type
        tools[].tools[].format.syntax tools[].tools[].format.type tools[].tools[].type tools[].type`,
      [results]: `input[].acknowledged_safety_checks input[].action input[].action.button input[].action.command
        input[].action.commands input[].action.keys input[].action.max_output_length input[].action.path
        input[].action.path[].x input[].action.path[].y input[].action.queries input[].action.scroll_x
        input[].action.scroll_y input[].action.sources input[].action.timeout_ms input[].action.type input[].action.x
        input[].action.y input[].actions input[].background input[].content[].annotations
        input[].content[].annotations[].end_index input[].content[].annotations[].index
        input[].content[].annotations[].start_index input[].content[].annotations[].type input[].content[].logprobs
        input[].content[].logprobs[].bytes input[].content[].logprobs[].bytes[] input[].content[].logprobs[].logprob
        input[].content[].logprobs[].top_logprobs input[].content[].logprobs[].top_logprobs[].bytes
        input[].content[].logprobs[].top_logprobs[].bytes[] input[].content[].logprobs[].top_logprobs[].logprob
        input[].error.code input[].error.moderation_details.categories
        input[].error.moderation_details.moderation_stage input[].error.type input[].execution
        input[].max_output_length input[].operation.type input[].output[].outcome.exit_code
        input[].output[].outcome.type input[].output_format input[].pending_safety_checks input[].phase
        input[].quality input[].queries input[].results[].attributes{} input[].results[].score input[].size
        input[].status input[].svg_usage.input_tokens input[].svg_usage.output_tokens
        input[].svg_usage.reasoning_tokens input[].svg_usage.total_tokens`,
      [sampling]: 'temperature top_p',
      [form]: `include include[] personality reasoning.context reasoning.generate_summary reasoning.summary
        text.format.type text.verbosity tools[].action tools[].background tools[].frame_duration_ms
        tools[].output_compression tools[].output_format top_logprobs truncation`,
      [choice]: `tool_choice tool_choice.mode tool_choice.tools tool_choice.type tools[].allowed_callers
        tools[].allowed_callers[] tools[].allowed_tools tools[].allowed_tools.tool_names tools[].connector_id
        tools[].execution tools[].require_approval tools[].require_approval.always.tool_names
        tools[].require_approval.never.tool_names tools[].tools[].allowed_callers tools[].tools[].allowed_callers[]`,
      [filters]: `tools[].container.network_policy.allowed_domains tools[].container.network_policy.domain_secrets
        tools[].container.network_policy.type tools[].environment.network_policy.allowed_domains
        tools[].environment.network_policy.domain_secrets tools[].environment.network_policy.type
        tools[].filters.allowed_domains tools[].filters.filters tools[].filters.filters[].type
        tools[].filters.filters[].value tools[].filters.filters[].value[] tools[].filters.type tools[].filters.value
        tools[].filters.value[] tools[].ranking_options.hybrid_search.embedding_weight
        tools[].ranking_options.hybrid_search.text_weight tools[].ranking_options.ranker
        tools[].ranking_options.score_threshold tools[].search_content_types tools[].search_content_types[]
        tools[].vector_store_ids`,
      'files that a container holds: what is read of them is output of the tool': `tools[].container.file_ids
        tools[].environment tools[].environment.file_ids`,
      'the screen of the client': 'tools[].display_height tools[].display_width',
      'pictures, and previews of them, in a call of a tool that has one price by its quality and size': `tools[].frame_count
        tools[].partial_images`,
      [model]: 'model',
      [safety]: `access_programs.cyber moderation.policy.input.mode moderation.policy.output.mode tools[].moderation`,
      'when a conversation is made short: the summary is read again and part of the answer': `context_management
        context_management[].compact_threshold`,
    },
  },
  {
    name: 'embeddings',
    types: [[`${openai}/embeddings.d.ts`, 'EmbeddingCreateParams']],
    multiplies: 'input input[] input[][]',
    lowers: {},
    neither: { [form]: 'dimensions encoding_format', [model]: 'model' },
  },
  {
    name: 'images',
    types: [[`${openai}/images.d.ts`, 'ImageGenerateParams', 'ImageEditParams', 'ImageCreateVariationParams']],
    multiplies: 'n partial_images frame_count image',
    lowers: {
      'a picture of an unknown quality is held for at the finest': 'quality',
      'a size lowers a price only where the model has prices by size': 'size',
      'tokens are held for as many as the finest picture takes': 'complexity input_fidelity svg.reasoning.effort',
    },
    neither: {
      [form]: 'background frame_duration_ms output_compression output_format response_format style',
      [model]: 'model',
      [safety]: 'moderation',
    },
  },
  {
    name: 'moderations',
    types: [[`${openai}/moderations.d.ts`, 'ModerationCreateParams']],
    multiplies: 'input',
    lowers: {},
    neither: { [parts]: 'input[].type', [model]: 'model' },
  },
  {
    name: 'audio',
    types: [
      [`${openai}/audio/speech.d.ts`, 'SpeechCreateParams'],
      [`${openai}/audio/transcriptions.d.ts`, 'TranscriptionCreateParams'],
      [`${openai}/audio/translations.d.ts`, 'TranslationCreateParams'],
    ],
    multiplies: '',
    lowers: { 'speech is paid by the letter, however fast it is said': 'speed' },
    neither: {
      'how a recording is cut: it is paid by its length': `chunking_strategy.prefix_padding_ms
        chunking_strategy.silence_duration_ms chunking_strategy.threshold`,
      'words beside the recording': 'keywords languages known_speaker_names',
      'at most four samples of ten seconds': 'known_speaker_references',
      [sampling]: 'temperature',
      [form]: 'include response_format stream_format timestamp_granularities timestamp_granularities[] voice',
      [model]: 'model',
    },
  },
  {
    // No route leads there: /v1/videos is unknown.
    name: 'videos',
    types: [[`${openai}/videos.d.ts`, 'VideoCreateParams']],
    multiplies: '',
    lowers: {},
    neither: { 'not relayed': 'model seconds size' },
  },
  {
    name: 'realtime',
    types: [[`${openai}/realtime/realtime.d.ts`, 'RealtimeClientEvent']],
    same: [
      [/^session\./, 'response.'],
      [/^response\.input\[\]\./, 'item.'],
    ],
    multiplies: 'response.max_output_tokens',
    lowers: {
      [length]: 'item.content[].detail response.prompt.variables{}.detail',
      [caching]: 'response.prompt.variables{}.prompt_cache_breakpoint.ttl',
      [thinking]: 'response.reasoning.effort',
      'sound is dearer than words': 'response.output_modalities response.output_modalities[]',
      'a turn is held for by what the conversation may be long at most': `response.truncation
        response.truncation.retention_ratio response.truncation.token_limits.post_instructions`,
    },
    neither: {
      [words]: 'item.content item.tools response.input response.tools',
      [parts]: `item.content[].type item.role item.status item.type item.error.code item.error.type
        response.prompt.variables{}.type response.tools[].type response.type type`,
      [form]: `response.audio.output.format.rate response.audio.output.format.type response.audio.output.speed
        response.audio.output.voice response.conversation response.include`,
      'how what is heard is cut and cleaned': `response.audio.input.format.rate response.audio.input.format.type
        response.audio.input.noise_reduction.strength response.audio.input.noise_reduction.type
        response.audio.input.turn_detection.eagerness response.audio.input.turn_detection.idle_timeout_ms
        response.audio.input.turn_detection.prefix_padding_ms
        response.audio.input.turn_detection.silence_duration_ms response.audio.input.turn_detection.threshold
        response.audio.input.turn_detection.type audio_end_ms content_index`,
      'words beside a recording that is held for as it arrives': `response.audio.input.transcription.delay
        response.audio.input.transcription.keywords response.audio.input.transcription.languages`,
      [choice]: `response.tool_choice response.tool_choice.type response.tools[].allowed_callers
        response.tools[].allowed_callers[] response.tools[].allowed_tools
        response.tools[].allowed_tools.tool_names response.tools[].connector_id response.tools[].require_approval
        response.tools[].require_approval.always.tool_names response.tools[].require_approval.never.tool_names`,
      [model]: 'response.model response.audio.input.transcription.model',
    },
  },
  {
    name: 'messages',
    types: [
      [`${anthropic}/messages/messages.d.ts`, 'MessageCreateParams', 'MessageCountTokensParams'],
      [`${anthropic}/beta/messages/messages.d.ts`, 'MessageCreateParams', 'MessageCountTokensParams'],
    ],
    same: [
      [/^system\[\]/, 'messages[].content[]'],
      // Blocks that hold blocks, and documents made of them.
      [
        /^messages\[\]\.content\[\]\.(?:content|source)(?:\.content|\[\]|\.source)*\.(?!content$)/,
        'messages[].content[].',
      ],
      [/^messages\[\]\.content\[\](?:\.(?:content|source)(?:\[\])?)+$/, 'messages[].content'],
      // Tools that a turn adds are tools of the request.
      [/^messages\[\]\.content\[\]\.(?:tool_changes\[\]\.)?tool\.definition\./, 'tools[].'],
    ],
    multiplies: `max_tokens tools[].max_uses tools[].max_tokens fallbacks fallbacks[].max_tokens thinking.budget_tokens
      mcp_servers context_management.edits`,
    lowers: {
      [tier]: 'service_tier speed fallbacks[].speed',
      [thinking]: `output_config.effort messages[].output_config.effort thinking.type thinking.display
        fallbacks[].output_config.effort fallbacks[].thinking.budget_tokens fallbacks[].thinking.display
        fallbacks[].thinking.type`,
      [caching]: `cache_control.ttl messages[].content[].cache_control.ttl
        messages[].content[].tool_changes[].cache_control.ttl
        messages[].content[].tool_references[].cache_control.ttl tools[].cache_control.ttl tools[].caching.ttl`,
      'a page is held for as long as all that the model reads': 'tools[].max_content_tokens',
      'what is taken out of a conversation is held for all the same': `context_management.edits[].clear_at_least.value
        context_management.edits[].clear_tool_inputs context_management.edits[].exclude_tools
        context_management.edits[].keep.type context_management.edits[].keep.value
        context_management.edits[].trigger.type context_management.edits[].trigger.value
        context_management.edits[].type messages[].clear_at`,
      'an answer is bounded by its limit, whatever remains of a budget': `output_config.task_budget.remaining
        output_config.task_budget.total fallbacks[].output_config.task_budget.remaining
        fallbacks[].output_config.task_budget.total`,
      [length]: 'messages[].content[].transformations.oversized_image',
    },
    neither: {
      [words]: `messages messages[].content system tools tools[].tools tools[].input_examples
        tools[].input_schema.required messages[].content[].tools messages[].content[].tool_changes
        messages[].content[].tool_references container.skills container.skills[].type`,
      [parts]: `messages[].role messages[].content[].type messages[].content[].caller.type
        messages[].content[].media_type messages[].content[].name messages[].content[].tool.type
        messages[].content[].tool_changes[].tool.type messages[].content[].tool_changes[].type tools[].type
        tools[].name thread.type messages[].content[].from.model messages[].content[].to.model`,
      [results]: `messages[].content[].citations messages[].content[].citations[].document_index
        messages[].content[].citations[].end_block_index messages[].content[].citations[].end_char_index
        messages[].content[].citations[].end_page_number messages[].content[].citations[].search_result_index
        messages[].content[].citations[].start_block_index messages[].content[].citations[].start_char_index
        messages[].content[].citations[].start_page_number messages[].content[].citations[].type
        messages[].content[].error_code messages[].content[].file_type messages[].content[].lines
        messages[].content[].new_lines messages[].content[].new_start messages[].content[].num_lines
        messages[].content[].old_lines messages[].content[].old_start messages[].content[].return_code
        messages[].content[].start_line messages[].content[].state_changes
        messages[].content[].state_changes[].size_bytes messages[].content[].state_changes[].type
        messages[].content[].tabs messages[].content[].total_lines`,
      [sampling]: 'stop_sequences',
      [form]: 'tools[].response_inclusion',
      [choice]: `tool_choice.type tools[].allowed_callers tools[].allowed_callers[]
        mcp_servers[].tool_configuration.allowed_tools`,
      [filters]: `tools[].allowed_domains tools[].blocked_domains tools[].url_sources.client_tool_results.tools
        tools[].url_sources.client_tool_results.type tools[].url_sources.server_tool_results.tools
        tools[].url_sources.server_tool_results.type tools[].url_sources.user_input.type`,
      'the screen and the files of the client': `tools[].display_height_px tools[].display_number
        tools[].display_width_px tools[].max_characters`,
      [model]: 'model tools[].model fallbacks[].model',
      'which of the features below may be asked for': 'betas betas[]',
      'whose account of the vendor pays': 'billing_policy.bill_to fallback_credit_token.mode',
      'what becomes of thoughts of earlier turns': `thinking.block_binding.prefix_mismatch_behavior
        fallbacks[].thinking.block_binding.prefix_mismatch_behavior`,
    },
  },
  {
    name: 'generateContent',
    types: [[google, 'GenerateContentParameters', 'CountTokensParameters', 'EmbedContentParameters']],
    // The SDK lays `generationConfig` flat into `config`, and lists of contents and parts wherever one may stand.
    same: [
      [/^config\.generationConfig\./, 'config.'],
      [/^config\.systemInstruction(?:\[\])?(?:\.parts\[\])?\.(?!parts$)/, 'contents[].parts[].'],
      [/^contents(?:\[\])?(?:\.parts\[\])?\.(?!parts)/, 'contents[].parts[].'],
      [/^contents\.parts$|^config\.systemInstruction\.parts$/, 'contents[].parts'],
    ],
    multiplies: `config.candidateCount config.maxOutputTokens contents
      contents[].parts[].videoMetadata.fps contents[].parts[].mediaResolution.numTokens`,
    lowers: {
      [tier]: 'config.serviceTier',
      [thinking]: 'config.thinkingConfig.thinkingBudget config.thinkingConfig.thinkingLevel',
      [length]: 'config.mediaResolution contents[].parts[].mediaResolution.level contents[].parts[].mediaProcessing',
      'sound and pictures are dearer than words': 'config.responseModalities config.responseModalities[]',
      'another model of the vendor than the one that is named is charged by its name': `config.modelSelectionConfig.featureSelectionPreference
        config.routingConfig.autoMode.modelRoutingPreference`,
    },
    neither: {
      [words]: `contents[].parts config.systemInstruction config.tools config.tools[].functionDeclarations
        config.tools[].functionDeclarations[].parameters.anyOf config.tools[].functionDeclarations[].parameters.enum
        config.tools[].functionDeclarations[].parameters.maximum
        config.tools[].functionDeclarations[].parameters.minimum
        config.tools[].functionDeclarations[].parameters.propertyOrdering
        config.tools[].functionDeclarations[].parameters.required
        config.tools[].functionDeclarations[].parameters.type
        config.tools[].functionDeclarations[].response.anyOf config.tools[].functionDeclarations[].response.enum
        config.tools[].functionDeclarations[].response.maximum
        config.tools[].functionDeclarations[].response.minimum
        config.tools[].functionDeclarations[].response.propertyOrdering
        config.tools[].functionDeclarations[].response.required
        config.tools[].functionDeclarations[].response.type config.responseSchema.anyOf config.responseSchema.enum
        config.responseSchema.maximum config.responseSchema.minimum config.responseSchema.propertyOrdering
        config.responseSchema.required config.responseSchema.type`,
      [results]: `contents[].parts[].audioTranscription.words contents[].parts[].codeExecutionResult.outcome
        contents[].parts[].executableCode.language contents[].parts[].functionCall.partialArgs
        contents[].parts[].functionCall.partialArgs[].numberValue contents[].parts[].toolCall.toolType`,
      [sampling]: `config.frequencyPenalty config.presencePenalty config.seed config.stopSequences
        config.temperature config.topK config.topP`,
      [form]: `config.audioTranscriptionConfig.adaptationPhrases config.audioTranscriptionConfig.customVocabulary
        config.audioTranscriptionConfig.languageCodes config.audioTranscriptionConfig.languageHints.languageCodes
        config.audioTranscriptionConfig.mode config.imageConfig.imageOutputOptions.compressionQuality
        config.imageConfig.outputCompressionQuality config.imageConfig.prominentPeople config.logprobs
        config.responseFormat config.speechConfig.multiSpeakerVoiceConfig.speakerVoiceConfigs
        config.outputDimensionality`,
      [choice]: `config.toolConfig.functionCallingConfig.allowedFunctionNames
        config.toolConfig.functionCallingConfig.mode config.tools[].functionDeclarations[].behavior
        config.tools[].computerUse.disabledSafetyPolicies config.tools[].computerUse.disabledSafetyPolicies[]
        config.tools[].computerUse.environment config.tools[].computerUse.excludedPredefinedFunctions`,
      [filters]: `config.toolConfig.retrievalConfig.latLng.latitude config.toolConfig.retrievalConfig.latLng.longitude
        config.tools[].enterpriseWebSearch.blockingConfidence config.tools[].enterpriseWebSearch.excludeDomains
        config.tools[].googleMaps.authConfig.apiKeyConfig.httpElementLocation
        config.tools[].googleMaps.authConfig.authType config.tools[].googleSearch.blockingConfidence
        config.tools[].googleSearch.excludeDomains
        config.tools[].googleSearchRetrieval.dynamicRetrievalConfig.dynamicThreshold
        config.tools[].googleSearchRetrieval.dynamicRetrievalConfig.mode
        config.tools[].retrieval.externalApi.apiSpec
        config.tools[].retrieval.externalApi.authConfig.apiKeyConfig.httpElementLocation
        config.tools[].retrieval.externalApi.authConfig.authType`,
      'what these give the model to read is held for as all that it reads': `config.tools[].fileSearch.fileSearchStoreNames
        config.tools[].fileSearch.topK config.tools[].retrieval.externalApi.elasticSearchParams.numHits
        config.tools[].retrieval.vertexAiSearch.dataStoreSpecs config.tools[].retrieval.vertexAiSearch.maxResults
        config.tools[].retrieval.vertexRagStore.ragCorpora config.tools[].retrieval.vertexRagStore.ragResources
        config.tools[].retrieval.vertexRagStore.ragResources[].ragFileIds
        config.tools[].retrieval.vertexRagStore.ragRetrievalConfig.filter.vectorDistanceThreshold
        config.tools[].retrieval.vertexRagStore.ragRetrievalConfig.filter.vectorSimilarityThreshold
        config.tools[].retrieval.vertexRagStore.ragRetrievalConfig.hybridSearch.alpha
        config.tools[].retrieval.vertexRagStore.ragRetrievalConfig.topK
        config.tools[].retrieval.vertexRagStore.similarityTopK
        config.tools[].retrieval.vertexRagStore.vectorDistanceThreshold`,
      [client]: `config.automaticFunctionCalling.maximumRemoteCalls config.httpOptions.retryOptions.attempts
        config.httpOptions.retryOptions.expBase config.httpOptions.retryOptions.httpStatusCodes
        config.httpOptions.retryOptions.httpStatusCodes[] config.httpOptions.retryOptions.initialDelay
        config.httpOptions.retryOptions.jitter config.httpOptions.retryOptions.maxDelay config.httpOptions.timeout
        config.tools[].mcpServers`,
      [safety]: `config.safetySettings config.safetySettings[].category config.safetySettings[].method
        config.safetySettings[].threshold`,
    },
  },
  {
    name: 'rerank',
    types: [['@ai-sdk/provider/dist/index.d.ts', 'RerankingModelV4CallOptions']],
    // The SDK's own form: a provider writes `documents`.
    same: [[/^documents\.values$/, 'documents']],
    multiplies: 'documents',
    lowers: {},
    neither: {
      'how many of the ranked documents are listed': 'topN',
      [parts]: 'documents.type documents.values[]{} providerOptions{}{}',
    },
  },
  {
    name: 'ollama',
    types: [['ollama/dist/browser.d.ts', 'ChatRequest', 'GenerateRequest', 'EmbedRequest']],
    multiplies: 'options.num_predict input',
    lowers: { [thinking]: 'think' },
    neither: {
      [words]: `context context[] images messages messages[].images messages[].tool_calls tools
        tools[].function.parameters.properties{}.enum tools[].function.parameters.properties{}.type
        tools[].function.parameters.required`,
      [sampling]: `options.frequency_penalty options.min_p options.mirostat options.mirostat_eta
        options.mirostat_tau options.presence_penalty options.repeat_last_n options.repeat_penalty options.seed
        options.stop options.temperature options.tfs_z options.top_k options.top_p options.typical_p`,
      [form]: 'dimensions top_logprobs height width steps',
      'how a host of one’s own runs the model': `keep_alive options.main_gpu options.num_batch options.num_ctx
        options.num_gpu options.num_keep options.num_thread`,
    },
  },
];
