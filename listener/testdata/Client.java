import java.io.FileInputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.TreeMap;
import java.util.stream.IntStream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

// Sends 100 requests at once over HTTP/2, with bodies of up to 99,000 bytes, and prints how many had which answer.
public class Client {
    public static void main(String[] args) throws Exception {
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null);
        trusted.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(new FileInputStream(args[0])));
        TrustManagerFactory trust = TrustManagerFactory.getInstance("PKIX");
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        HttpClient client = HttpClient.newBuilder().sslContext(context).build();
        var asked = IntStream.range(0, 100).mapToObj(i -> client.sendAsync(
            HttpRequest.newBuilder(URI.create(args[1])).POST(BodyPublishers.ofString("x".repeat(i * 1000))).build(),
            BodyHandlers.ofString())).toList();
        var answers = new TreeMap<String, Integer>();
        for (var answer : asked) {
            answers.merge(answer.get().version() + " " + answer.get().statusCode() + " " + answer.get().body(), 1, Integer::sum);
        }
        System.out.println(answers);
    }
}
