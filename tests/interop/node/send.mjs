// Sends spans with one of the three exporters and prints what it sent, one JSON object a span.
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';

const [transport, url] = process.argv.slice(2);
const { OTLPTraceExporter } = await import(`@opentelemetry/exporter-trace-otlp-${transport}`);

const nanoseconds = ([seconds, rest]) => (BigInt(seconds) * 1000000000n + BigInt(rest)).toString();
const printing = {
  export(spans, done) {
    for (const span of spans) {
      console.log(JSON.stringify({
        trace_id: span.spanContext().traceId,
        span_id: span.spanContext().spanId,
        parent_span_id: span.parentSpanContext?.spanId ?? null,
        name: span.name,
        start_ns: nanoseconds(span.startTime),
        end_ns: nanoseconds(span.endTime),
        kind: SpanKind[span.kind],
        status_code: SpanStatusCode[span.status.code],
        attributes: span.attributes,
      }));
    }
    done({ code: 0 });
  },
  shutdown: () => Promise.resolve(),
  forceFlush: () => Promise.resolve(),
};

const provider = new BasicTracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'node-sender' }),
  spanProcessors: [new SimpleSpanProcessor(printing), new BatchSpanProcessor(new OTLPTraceExporter({ url }))],
});
const tracer = provider.getTracer('interop', '1.0');
for (const kind of [SpanKind.INTERNAL, SpanKind.SERVER, SpanKind.CLIENT, SpanKind.PRODUCER, SpanKind.CONSUMER]) {
  const span = tracer.startSpan('spän', { kind, attributes: { text: 'ü', whole: 7, part: 0.25, flag: false, many: ['a', 'b'] } });
  span.setStatus({ code: SpanStatusCode.ERROR, message: 'it broke' });
  span.end();
}
await provider.shutdown();
